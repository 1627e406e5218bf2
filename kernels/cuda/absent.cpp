// Replaces the CUDA backend in a build without it; reports why it is missing.
#include "kernels/cuda/installation.h"

namespace brightnet::cuda {

Installation inspect(int) {
  Installation installation;
  installation.absence = BRIGHTNET_CUDA_ABSENCE;
  installation.gpu_files = have_gpu_files();
  return installation;
}

KeptGpu::KeptGpu(bool) : context_(nullptr) {}
KeptGpu::~KeptGpu() = default;

SumEngines sum_engines(int) {
  return {};
}

std::unique_ptr<Backend> make_backend(const DeviceChoice& choice) {
  const auto problem = why_unusable(inspect(), choice.index);
  throw DeviceError(problem->what, "--device", problem->remedy);
}

std::unique_ptr<Backend> make_planning_backend(Precision) {
  const auto problem = why_unusable(inspect(), 0);
  throw DeviceError(problem->what, "--device", problem->remedy);
}

}  // namespace brightnet::cuda
