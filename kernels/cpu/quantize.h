// Rounding to 8 bits on the CPU; also used by convolutions.
#pragma once

#include "core/tensor.h"
#include "kernels/math/quantization.h"

namespace brightnet::cpu {

/// Backend::quantize().
void quantize(const Tensor& x, const QuantizedRange& range, const Tensor& y);

}  // namespace brightnet::cpu
