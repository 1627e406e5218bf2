// Conversion between element types on the CPU, which convolutions need too.
#pragma once

#include "core/tensor.h"

namespace brightnet::cpu {

/// f32 or bf16 to f32 or bf16; the shapes are equal and the memory does not overlap. To bf16 it rounds to
/// nearest, ties to even; NaN stays NaN, and values above bf16's range become infinite.
void cast(const Tensor& from, const Tensor& to);

}  // namespace brightnet::cpu
