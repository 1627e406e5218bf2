// Convolutions on the CPU by Winograd's algorithm, through oneDNN: fewer than half of the multiplications of a 3 × 3.
#pragma once

#include <memory>

#include "kernels/convolution.h"

namespace brightnet::cpu {

/// Plans an fp32 convolution, or a bf16 one that is computed in fp32, for inference. Null where the algorithm does not apply
/// (3 × 3 of stride 1, whole blocks of channels), oneDNN does not have it for this CPU (AVX-512 needed), or it would take too much
/// memory.
std::unique_ptr<Convolution> plan_winograd_convolution(const ConvolutionSpec& spec);

}  // namespace brightnet::cpu
