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

template <int count>
__device__ __forceinline__ void activate_all(Activation activation, float (&values)[count]) {
  with_activation(activation, [&]<Activation A>() {
#pragma unroll
    for (int k = 0; k < count; ++k) values[k] = activate<A>(values[k]);
  });
}

/// gradients *= activation'(arguments).
template <int count>
__device__ __forceinline__ void multiply_by_derivative(Activation activation, const float (&arguments)[count],
                                                       float (&gradients)[count]) {
  with_activation(activation, [&]<Activation A>() {
#pragma unroll
    for (int k = 0; k < count; ++k) gradients[k] *= activation_gradient<A>(arguments[k]);
  });
}

#endif

}  // namespace brightnet::cuda
