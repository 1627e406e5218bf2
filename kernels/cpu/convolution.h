// Convolutions on the CPU, by oneDNN.
#pragma once

#include <memory>

#include "kernels/convolution.h"

namespace brightnet::cpu {

/// bf16 products run on AMX or AVX512-BF16 where those are faster than fp32; elsewhere a bf16 convolution is
/// an fp32 one between casts: correct on every CPU, and description() says so.
std::unique_ptr<Convolution> plan_convolution(const ConvolutionSpec& spec);

}  // namespace brightnet::cpu
