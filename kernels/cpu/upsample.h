// Nearest-neighbour upsampling on the CPU.
#pragma once

#include "core/tensor.h"

namespace brightnet::cpu {

/// Every pixel of x becomes factor × factor equal pixels of y. f32 or bf16.
void upsample_forward(int factor, const Tensor& x, const Tensor& y);

/// dx = or += the sum of the factor × factor pixels of dy that came from one pixel; summed in fp32.
void upsample_backward(int factor, const Tensor& dy, const Tensor& dx, bool accumulate);

}  // namespace brightnet::cpu
