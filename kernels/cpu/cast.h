// Conversion between element types on the CPU; also used by convolutions.
#pragma once

#include "core/tensor.h"

namespace brightnet::cpu {

/// Backend::cast() between f32 and bf16.
void cast(const Tensor& from, const Tensor& to);

}  // namespace brightnet::cpu
