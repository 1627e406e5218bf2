// Gradients as the check of a step and the optimizer's step read them: fp32, or in 16 bits where a convolution left them rounded
// (ParameterRange::gradient_type).
#pragma once

#include "kernels/cuda/vector.h"
#include "kernels/optimizer.h"

namespace brightnet::cuda {

#ifdef BRIGHTNET_KERNELS

/// Calls body(p) with the place of the gradient of parameter `at`, in its type. The next ones of the range follow.
template <typename Body>
__device__ __forceinline__ void with_gradients(const float* gradients, const ParameterRange& range, size_t at,
                                               Body&& body) {
  const float* const first = gradients + range.begin;
  const size_t index = at - range.begin;
  switch (range.gradient_type) {
    case DType::f16: return body(reinterpret_cast<const Half*>(first) + index);
    case DType::bf16: return body(reinterpret_cast<const Bf16*>(first) + index);
    default: return body(first + index);
  }
}

/// Bytes of `count` gradients of which some are in 16 bits.
inline size_t gradient_bytes(size_t count, size_t rounded) {
  return (count - rounded) * sizeof(float) + rounded * sizeof(Half);
}

#endif

}  // namespace brightnet::cuda
