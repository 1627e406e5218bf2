// The epilogues of convolutions that cuDNN does not fuse.
#pragma once

#include "core/tensor.h"
#include "kernels/cuda/runtime.h"
#include "kernels/math/activation.h"

namespace brightnet::cuda {

/// y = activation(y + bias), in place; bias is fp32, one a channel.
void bias_activation(const Tensor& y, const float* bias, Activation activation, cudaStream_t stream);

/// dw = or += part, a weight gradient in the compute type.
void add_weight_gradient(const Tensor& part, float* dw, bool accumulate, cudaStream_t stream);

}  // namespace brightnet::cuda
