// Sums of tensors on the GPU.
#pragma once

#include "core/tensor.h"
#include "kernels/cuda/runtime.h"

namespace brightnet::cuda {

/// y = a + b, dense tensors; y may be a or b.
void add(const Tensor& a, const Tensor& b, const Tensor& y, cudaStream_t stream);

}  // namespace brightnet::cuda
