// The sum of two tensors (shortcut connections, gradients of an output with two readers) on the CPU.
#pragma once

#include "core/tensor.h"

namespace brightnet::cpu {

/// y = a + b; y may be a or b. All of one shape and type, f32 or bf16.
void add(const Tensor& a, const Tensor& b, const Tensor& y);

}  // namespace brightnet::cpu
