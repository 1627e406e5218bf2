// What nvcc understands and host compilers do not. Kernels are plain CUDA with three substitutes, so that a
// host compiler can compile them, too:
//
//   launch(kernel, grid, block, shared_bytes, stream, arguments...)   instead of <<<...>>>
//   BRIGHTNET_SHARED(float, tile, [32][33]);    instead of __shared__ float tile[32][33];
//   float* row = dynamic_shared<float>();       instead of extern __shared__
//
// Builds that compile kernels with a host compiler put another header of this name first in the include path.
#pragma once

#include <cstddef>
#include <source_location>
#include <type_traits>

#include <cuda_runtime.h>

#include "kernels/traffic.h"

#ifdef __CUDACC__

/// This compiler reads kernels.
#define BRIGHTNET_KERNELS

/// A variable in the block's shared memory: BRIGHTNET_SHARED(float, tile, [32][33]); and of one number
/// BRIGHTNET_SHARED(int, count, );
#define BRIGHTNET_SHARED(type, name, extent) __shared__ type name extent

namespace brightnet::cuda {

/// The shared memory that the launch asked for, 16-byte aligned.
template <typename T>
__device__ __forceinline__ T* dynamic_shared() {
  extern __shared__ __align__(16) unsigned char brightnet_dynamic_shared[];
  return reinterpret_cast<T*>(brightnet_dynamic_shared);
}

/// Called before a kernel's accesses of several elements at once; here the hardware checks them.
__device__ __forceinline__ void check_access(const void*, size_t, const char*) {}

/// kernel<<<grid, block, shared_bytes, stream>>>(arguments...). The emulation also takes the launch's place in
/// the source and its traffic.
template <typename... Parameters>
cudaError_t queue_kernel(void (*kernel)(Parameters...), const dim3& grid, const dim3& block,
                         size_t shared_bytes, cudaStream_t stream, const std::source_location&,
                         const Traffic*, const std::type_identity_t<Parameters>&... arguments) {
  void* addresses[] = {const_cast<void*>(static_cast<const void*>(&arguments))..., nullptr};
  return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, block, addresses, shared_bytes,
                          stream);
}

}  // namespace brightnet::cuda

#endif
