// What `brightnet doctor` finds: libraries, GPUs, and whether they compute what they should.
#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "kernels/cuda/installation.h"
#include "train/bench/convolution_check.h"

namespace brightnet {

enum class Health : uint8_t {
  good,
  absent,  ///< not here, and nothing here needs it
  broken,  ///< here and unusable, or missing to what is here
};

struct LibraryDiagnosis {
  std::string name;
  Health health = Health::good;
  std::string found, built_for, needed, path;
  std::string problem, remedy;
};

struct GpuDiagnosis {
  int index = 0;
  cuda::GpuFacts facts;
  bool has_code = false;
  Health health = Health::good;
  std::string problem, remedy;
};

struct ConvolutionDiagnosis {
  std::string device;
  Precision precision = Precision::fp32;
  Health health = Health::good;
  ConvolutionCheck check;
  std::string problem, remedy;
};

struct Diagnosis {
  std::vector<LibraryDiagnosis> libraries;
  std::vector<GpuDiagnosis> gpus;
  std::vector<ConvolutionDiagnosis> convolutions;
  std::string cuda_code;  ///< compute capabilities that the build carries code for
  bool healthy() const;
};

/// What facts about CUDA mean: a machine without a GPU is healthy without its libraries.
std::vector<LibraryDiagnosis> judge_cuda(const cuda::Installation& installation);
std::vector<GpuDiagnosis> judge_gpus(const cuda::Installation& installation);

/// Looks at this machine, and computes on the CPU and every usable GPU.
Diagnosis diagnose();

std::string to_table(const Diagnosis& diagnosis);
Json to_json(const Diagnosis& diagnosis);

}  // namespace brightnet
