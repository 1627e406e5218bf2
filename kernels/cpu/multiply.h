// The product of two tensors (spatial attention, and its gradient) on the CPU.
#pragma once

#include "core/tensor.h"

namespace brightnet::cpu {

/// y = or += a · b, element by element; y may be a or b. All of one shape and type, f32 or bf16.
void multiply(const Tensor& a, const Tensor& b, const Tensor& y, bool accumulate);

}  // namespace brightnet::cpu
