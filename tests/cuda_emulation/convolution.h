// Convolutions for the emulated GPU: the CPU's, in fp32, queued like a kernel. What cuDNN computes cannot be
// run without a GPU.
#pragma once

#include <memory>

#include "kernels/convolution.h"
#include "kernels/cuda/runtime.h"

namespace brightnet::emulation {

/// Operands are rounded to the spec's type as they lie in memory, sums are fp32, and results are rounded
/// once, as tensor cores do.
std::unique_ptr<Convolution> make_convolution(const ConvolutionSpec& spec, cudaStream_t stream);

}  // namespace brightnet::emulation
