// What kernels/cuda/language.h is to nvcc, for the host compiler: this folder comes before the project's in
// the include path of the emulated tests.
#pragma once

#include "tests/cuda_emulation/device.h"

#define BRIGHTNET_KERNELS

#define BRIGHTNET_SHARED(type, name, extent) \
  auto& name = ::brightnet::emulation::shared_variable<type extent, decltype([] {})>()

namespace brightnet::cuda {

using emulation::check_access;

template <typename T>
T* dynamic_shared() {
  return static_cast<T*>(emulation::dynamic_shared_memory());
}

template <typename... Parameters>
cudaError_t queue_kernel(void (*kernel)(Parameters...), const dim3& grid, const dim3& block,
                         size_t shared_bytes, cudaStream_t stream, const std::source_location& where,
                         const Traffic* traffic, const std::type_identity_t<Parameters>&... arguments) {
  emulation::launch(kernel, grid, block, shared_bytes, stream, where, traffic, arguments...);
  return cudaSuccess;
}

}  // namespace brightnet::cuda
