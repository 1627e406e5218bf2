// Activations by themselves on the GPU, and their formulas on vectors.
#pragma once

#include "core/tensor.h"
#include "kernels/cuda/runtime.h"
#include "kernels/math/activation.h"

namespace brightnet::cuda {

/// y = activation(x), dense tensors; x and y may be the same.
void activation_forward(Activation activation, const Tensor& x, const Tensor& y, cudaStream_t stream);
/// dy *= activation'(x), x the activation's argument.
void activation_backward(Activation activation, const Tensor& x, const Tensor& dy, cudaStream_t stream);

#if defined(__CUDACC__) || defined(BRIGHTNET_CUDA_EMULATION)

/// Calls body.template operator()<A>() for the activation of a kernel's argument. All threads take the same
/// branch, once a vector, or once for all vectors where registers are scarce (a loop inside `body` keeps no
/// unpacked vectors over the branch); a kernel compiled for each activation would be little faster, and the
/// program six times larger.
template <typename Body>
__device__ __forceinline__ void for_activation(Activation activation, const Body& body) {
  switch (activation) {
    case Activation::linear:
      return body.template operator()<Activation::linear>();
    case Activation::relu:
      return body.template operator()<Activation::relu>();
    case Activation::leaky:
      return body.template operator()<Activation::leaky>();
    case Activation::mish:
      return body.template operator()<Activation::mish>();
    case Activation::swish:
      return body.template operator()<Activation::swish>();
    case Activation::logistic:
      return body.template operator()<Activation::logistic>();
  }
}

template <int count>
__device__ __forceinline__ void activate_all(Activation activation, float (&values)[count]) {
  for_activation(activation, [&]<Activation A>() {
#pragma unroll
    for (int k = 0; k < count; ++k) values[k] = activate<A>(values[k]);
  });
}

/// gradients *= activation'(arguments).
template <int count>
__device__ __forceinline__ void multiply_by_slope(Activation activation, const float (&arguments)[count],
                                                  float (&gradients)[count]) {
  for_activation(activation, [&]<Activation A>() {
#pragma unroll
    for (int k = 0; k < count; ++k) gradients[k] *= activation_gradient<A>(arguments[k]);
  });
}

#endif

}  // namespace brightnet::cuda
