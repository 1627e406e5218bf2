// A convolution over one part of a batch that other ranks have the other parts of.
//
// Its weights' gradient must not show how the batch is divided. So it is computed image by image, with the
// same bits wherever the image is; the images are added in fp64, which holds a sum of so few fp32 numbers
// exactly; and the sums of all ranks meet before they are rounded. That costs a pass over the weights for
// every image.
#pragma once

#include <memory>

#include "kernels/convolution.h"

namespace brightnet::cpu {

/// For a spec that trains and has an exchange.
std::unique_ptr<Convolution> make_shared_convolution(const ConvolutionSpec& spec);

}  // namespace brightnet::cpu
