// The CUDA installation of this machine, and whether brightnet can use it: `brightnet doctor` and all errors
// about GPUs are based on it. Compiles without CUDA.
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
  std::string problem;  ///< CUDA's error when it was asked for the free memory; empty: none
};

struct Installation {
  bool built = false;              ///< the build has the CUDA backend
  std::string absence;             ///< why the build has no CUDA backend
  std::vector<int> architectures;  ///< compute capabilities with machine code in this build: 75, 80, ...
  LibraryFacts driver, runtime, cudnn, nccl, nvjpeg;
  std::vector<GpuFacts> gpus;                  ///< the GPUs that CUDA_VISIBLE_DEVICES leaves, in its order
  std::optional<std::string> visible_devices;  ///< CUDA_VISIBLE_DEVICES, where it is set
  bool gpu_files = false;                      ///< the kernel has a driver for an NVIDIA GPU
};

/// Inspects this machine, with the free memory of GPU `gpu` or of all. Where there is no GPU, libraries are loaded only for
/// `every_gpu`. A query of free memory creates a
/// context, which takes some hundred MiB of it. Does not throw: problems are part of the result.
constexpr int every_gpu = -1;
Installation inspect(int gpu = every_gpu);

/// Whether /dev has NVIDIA's device files.
bool have_gpu_files();

/// A reason, and what to do about it.
struct Problem {
  std::string what, remedy;
};

/// Why GPU `index` cannot be used, with the versions found and needed; nullopt when it can.
std::optional<Problem> why_unusable(const Installation& installation, int index);
/// Why a GPU does not support this precision; nullopt when it does.
std::optional<Problem> why_not_in(Precision precision, const GpuFacts& gpu);

/// The 16-bit types in which cuDNN computes the sums of batch-norm's statistics with a convolution on a GPU (docs/gpu.md). In
/// none of them where it cannot be asked: without cuDNN 9.8.
struct SumEngines {
  bool fp16 = false, bf16 = false;
};
SumEngines sum_engines(int gpu);

/// Whether a build with machine code for these compute capabilities, and PTX of the last, runs on the card:
/// machine code runs on cards of the same major version and no older minor one, PTX on every newer card.
bool has_code_for(const std::vector<int>& architectures, int major, int minor);

/// How a backend chooses among cuDNN's engines for a convolution's pass.
enum class EngineSelection : uint8_t {
  fastest,      ///< the one that takes the least time in trials
  recommended,  ///< the first that cuDNN names, with what can be fused: what tests compare with references
  reproducible  ///< the first whose result is the same in every run, of those that fuse no sums
};

/// Most seconds that a process spends on timing engines, in all input sizes together: mostly in a first run,
/// as the next one remembers the choices.
constexpr double most_timing_seconds = 60;

struct DeviceChoice {
  int index = 0;
  Precision precision = Precision::fp32;
  EngineSelection engines = EngineSelection::fastest;
  double timing_seconds = most_timing_seconds;  ///< most seconds that a process spends on timing engines
};

/// Gives the calling thread its current GPU back at its end: what computes on one leaves the thread on it, and the host of the
/// library may use another. A thread that had none keeps the library's.
class KeptGpu {
 public:
  /// With `wanted` false, nothing is kept, and the driver is not asked.
  explicit KeptGpu(bool wanted);
  ~KeptGpu();
  KeptGpu(const KeptGpu&) = delete;
  KeptGpu& operator=(const KeptGpu&) = delete;

 private:
  void* context_;
};

/// Makes the backend on a GPU. Throws DeviceError when why_unusable() has a problem.
std::unique_ptr<Backend> make_backend(const DeviceChoice& choice);
/// Makes a backend for planning only: for `brightnet memory` on a machine without a GPU. Throws DeviceError
/// when the build has no CUDA.
std::unique_ptr<Backend> make_planning_backend(Precision precision);

}  // namespace brightnet::cuda
