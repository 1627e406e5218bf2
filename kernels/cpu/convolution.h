// Convolutions on the CPU, by oneDNN.
#pragma once

#include <memory>

#include "kernels/convolution.h"

namespace brightnet::cpu {

/// bf16 runs on AMX or AVX512-BF16 where the CPU has it (oneDNN emulates it on any AVX-512); on CPUs without
/// AVX-512, for which oneDNN has no bf16 convolution, it runs in fp32 between casts: slower, same results to
/// bf16's precision, and said so in description().
std::unique_ptr<Convolution> plan_convolution(const ConvolutionSpec& spec);

}  // namespace brightnet::cpu
