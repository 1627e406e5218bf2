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

/// Whether convolutions with a kernel of more than one pixel are said to be faster when they apply the
/// batch-norm before them; the others never are. True in the beginning.
void let_convolutions_normalize(bool allowed);
/// Passes that did so far.
int normalizing_passes();

}  // namespace brightnet::emulation
