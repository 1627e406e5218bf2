// Convolutions on the CPU, by oneDNN.
#pragma once

#include <cstdint>
#include <memory>

#include "kernels/convolution.h"

namespace brightnet::cpu {

/// bf16 products run on AMX or AVX512-BF16 where those are faster than fp32; elsewhere a bf16 convolution is
/// an fp32 one between casts: correct on every CPU, and description() says so.
std::unique_ptr<Convolution> plan_convolution(const ConvolutionSpec& spec);

/// Whether a network computes faster in bf16 than in fp32 on this CPU.
bool fast_bf16();

/// How bf16 convolutions can be computed; native ones need AVX-512.
enum class Bf16Products : uint8_t { native, in_fp32 };
/// A bf16 convolution computed in this way, whichever is faster here.
std::unique_ptr<Convolution> plan_bf16_convolution(const ConvolutionSpec& spec, Bf16Products products);

}  // namespace brightnet::cpu
