// A convolution over one rank's part of a batch whose weight gradient is bit-identical however the batch
// is divided.
//
// The gradient is computed image by image, with the same bits on any rank; the images are added in fp64,
// which holds a sum of so few fp32 numbers exactly; and the all-reduce precedes the rounding to fp32. This
// costs a pass over the weights per image.
#pragma once

#include <memory>

#include "kernels/convolution.h"

namespace brightnet::cpu {

/// Makes the convolution of a spec that trains and has an exchange.
std::unique_ptr<Convolution> make_shared_convolution(const ConvolutionSpec& spec);

}  // namespace brightnet::cpu
