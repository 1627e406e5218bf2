// What `brightnet doctor` finds: libraries, GPUs, and whether they compute what they should.
#pragma once

#include <string>
#include <vector>

#include "bench/convolution_check.h"
#include "core/json.h"
#include "kernels/cuda/installation.h"

namespace brightnet {

enum class Health : uint8_t {
  good,
  absent,  ///< not installed, and not needed on this machine
  broken,  ///< unusable, or needed and not installed
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
  std::string cuda_code;  ///< compute capabilities that the build contains code for
  bool healthy() const;
};

/// The health of the CUDA libraries; a machine without a GPU is healthy without them.
std::vector<LibraryDiagnosis> diagnose_cuda(const cuda::Installation& installation);
std::vector<GpuDiagnosis> diagnose_gpus(const cuda::Installation& installation);

/// Runs a convolution on the device; one that cannot be opened is `broken`, and the problem says why.
ConvolutionDiagnosis try_convolution(const std::string& device, Precision precision);

/// The GPUs that have no problem, and on which every convolution was right.
std::vector<int> working_gpus(const Diagnosis& diagnosis);

/// Inspects this machine and runs a convolution on the CPU and every usable GPU.
Diagnosis diagnose();

std::string to_table(const Diagnosis& diagnosis);
Json to_json(const Diagnosis& diagnosis);

}  // namespace brightnet
