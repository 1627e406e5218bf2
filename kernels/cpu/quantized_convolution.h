// Convolutions in 8 bits on the CPU, by oneDNN.
#pragma once

#include <memory>

#include "kernels/convolution.h"

namespace brightnet::cpu {

/// Plans a convolution of a spec with `quantized`. Needs has_int8_products(): older instructions add pairs of products in 16
/// bits, which saturate.
std::unique_ptr<Convolution> plan_quantized_convolution(const ConvolutionSpec& spec);

/// Whether this CPU sums 8-bit products exactly: VNNI, or AMX.
bool has_int8_products();

}  // namespace brightnet::cpu
