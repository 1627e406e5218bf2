// Opens a GPU. The installation is checked first, so that problems are reported with their cause and remedy.
#include "kernels/cuda/convolution.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/installation.h"
#include "kernels/cuda/runtime.h"

namespace brightnet::cuda {

KeptGpu::KeptGpu(bool wanted) : context_(wanted ? current_context() : nullptr) {}
KeptGpu::~KeptGpu() {
  choose_context(context_);
}

std::unique_ptr<Backend> make_backend(const DeviceChoice& choice) {
  const Installation installation = inspect(choice.index);
  if (const auto problem = why_unusable(installation, choice.index))
    throw DeviceError(problem->what, "--device", problem->remedy);
  const GpuFacts& gpu = installation.gpus[choice.index];
  if (const auto problem = why_not_in(choice.precision, gpu))
    throw DeviceError(problem->what, "--precision", problem->remedy);
  check(cudaSetDevice(choice.index), "choose GPU " + std::to_string(choice.index));
  const CudnnOptions options{.gpu = gpu.name,
                             .tensor_float = choice.precision == Precision::tf32,
                             .selection = choice.engines,
                             .timing_seconds = choice.timing_seconds};
  return std::make_unique<CudaBackend>("cuda:" + std::to_string(choice.index) + " (" + gpu.name + ')',
                                       cudnn_convolutions(options));
}

std::unique_ptr<Backend> make_planning_backend(Precision precision) {
  return CudaBackend::planner("cuda",
                              cudnn_convolutions({.gpu = "", .tensor_float = precision == Precision::tf32}));
}

}  // namespace brightnet::cuda
