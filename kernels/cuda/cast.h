// Conversions between element types on the GPU.
#pragma once

#include "core/tensor.h"
#include "kernels/cuda/runtime.h"

namespace brightnet::cuda {

/// Between f32, bf16 and f16, rounded to nearest even; dense tensors of one shape.
void cast(const Tensor& from, const Tensor& to, cudaStream_t stream);

}  // namespace brightnet::cuda
