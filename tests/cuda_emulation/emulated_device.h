// The CUDA backend on the emulated GPU.
#pragma once

#include "kernels/cuda/cuda_backend.h"
#include "tests/cuda_emulation/convolution.h"

namespace brightnet::testing {

inline std::unique_ptr<Backend> make_emulated_backend() {
  return std::make_unique<cuda::CudaBackend>("emulated GPU", emulation::make_convolution);
}

}  // namespace brightnet::testing
