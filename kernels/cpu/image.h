// From the loader's bytes to the network's input, on the CPU.
#pragma once

#include "core/tensor.h"

namespace brightnet::cpu {

/// x = pixels / 255. `pixels` is u8, x of the same shape and f32 or bf16; correctly rounded in either.
void normalize_image(const Tensor& pixels, const Tensor& x);

}  // namespace brightnet::cpu
