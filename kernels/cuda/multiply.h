// Products of tensors on the GPU.
#pragma once

#include "core/tensor.h"
#include "kernels/cuda/runtime.h"

namespace brightnet::cuda {

/// y = or += a · b, element by element; dense tensors, y may be a or b.
void multiply(const Tensor& a, const Tensor& b, const Tensor& y, bool accumulate, cudaStream_t stream);

}  // namespace brightnet::cuda
