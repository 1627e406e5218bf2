// Nearest-neighbour upsampling on the GPU.
#pragma once

#include "core/tensor.h"
#include "kernels/cuda/runtime.h"

namespace brightnet::cuda {

/// Every pixel of x becomes factor × factor pixels of y; dense tensors.
void upsample_forward(int factor, const Tensor& x, const Tensor& y, cudaStream_t stream);
/// dx = or += the sum over each factor × factor pixels of dy, in fp32 and rounded once.
void upsample_backward(int factor, const Tensor& dy, const Tensor& dx, bool accumulate, cudaStream_t stream);

}  // namespace brightnet::cuda
