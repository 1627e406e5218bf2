// Activations of vectors of elements.
#pragma once

#include "kernels/cuda/runtime.h"
#include "kernels/math/activation.h"

namespace brightnet::cuda {

#ifdef BRIGHTNET_KERNELS

/// values = activation(values).
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
