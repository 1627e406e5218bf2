// What this machine has of CUDA, and whether brightnet can use it: the facts that `brightnet doctor` lists
// and that every refusal of a GPU is made of. Needs no CUDA to compile; without it in the build, the facts
// say so.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "kernels/backend.h"

namespace brightnet::cuda {

/// A library as it was found.
struct LibraryFacts {
  std::string found;      ///< "9.19.0"; empty: not loadable
  std::string built_for;  ///< the version whose headers this build was compiled with; empty: none
  std::string needed;     ///< "9.0 or newer"
  std::string path;       ///< the file that was loaded, when it was one
  std::string problem;    ///< why it cannot be used; empty: it can
};

struct GpuFacts {
  std::string name;
  int major = 0, minor = 0;  ///< compute capability
  size_t total_bytes = 0, free_bytes = 0;
  std::string problem;  ///< what CUDA said when it was asked for the free memory; empty: nothing
};

struct Installation {
  bool built = false;              ///< the build has the CUDA backend
  std::string absence;             ///< why it has not
  std::vector<int> architectures;  ///< compute capabilities with machine code in this build: 75, 80, ...
  LibraryFacts driver, runtime, cudnn, nccl;
  std::vector<GpuFacts> gpus;                  ///< those that CUDA_VISIBLE_DEVICES leaves, in its order
  std::optional<std::string> visible_devices;  ///< CUDA_VISIBLE_DEVICES, where it is set
  bool gpu_files = false;  ///< the kernel has a driver for an NVIDIA GPU, usable by us or not
};

/// Looks at this machine; at the memory of GPU `gpu` alone, or of all. Asking one for its memory makes a
/// context there, which takes some hundred MiB of it. Throws nothing: what is wrong is in the facts.
constexpr int every_gpu = -1;
Installation inspect(int gpu = every_gpu);

/// Whether /dev has what NVIDIA's kernel driver makes there.
bool have_gpu_files();

/// A reason, and what to do about it.
struct Problem {
  std::string what, remedy;
};

/// Why GPU `index` cannot be used, versions found and needed included; nothing when it can. Looks
/// at facts alone.
std::optional<Problem> why_unusable(const Installation& installation, int index);
/// Why that GPU does not compute in this precision; nothing when it does.
std::optional<Problem> why_not_in(Precision precision, const GpuFacts& gpu);

/// Whether a build with machine code for these compute capabilities, and PTX of the last, runs on the card:
/// machine code runs on cards of the same major version and no older minor one, PTX on every newer card.
bool has_code_for(const std::vector<int>& architectures, int major, int minor);

struct DeviceChoice {
  int index = 0;
  Precision precision = Precision::fp32;
  /// Only convolution engines whose result does not depend on the timing of threads.
  bool deterministic = false;
};

/// The backend on that GPU. Throws DeviceError with why_unusable()'s words.
std::unique_ptr<Backend> make_backend(const DeviceChoice& choice);
/// A backend that only plans: for `brightnet memory` on a machine without a GPU. Its memory cannot be
/// touched. Throws DeviceError when the build has no CUDA.
std::unique_ptr<Backend> make_planning_backend(Precision precision);

}  // namespace brightnet::cuda
