// Two convolutions of one input, computed as one (private to layers/).
//
// A cross-stage partial stage begins with two 1 × 1 convolutions that read the same tensor x. As one convolution with
// the filters of both they read x once in the forward pass and once for the weights' gradient, and write x's gradient
// once, where each by itself would read x and the second add to what the first has written.
//
//                 forward                               backward
//   first twin    y = x ∗ [w₁, w₂], z₁ from y₁          dy₁ from dz₁, then dw₁, dw₂ and dx from dy
//   second twin   z₂ from y₂                            dy₂ from dz₂
//
// y holds the channels of both, one twin's after the other's: batch-norm reads its slice, and in the backward pass
// writes the slice's gradient in its place. The second twin follows the first in the network, so that in the backward
// pass it comes before. The twins' parameters lie where they would without this. What cannot be converted where it
// lies (fp32 weights and their gradients, a few megabytes in yolov4) is copied.
#pragma once

#include <memory>

#include "layers/layer.h"

namespace brightnet {

/// Whether two convolutions of one input, both with batch-norm in training and of one type, can be computed as one.
bool can_be_twins(const ConvAttributes& first, const ConvAttributes& second);

struct TwinLayers {
  std::unique_ptr<Layer> first, second;  ///< the second refers to the first
};
/// Layers of two convolutions that can_be_twins(), in training.
TwinLayers make_twin_layers(const LayerSetup& first, const LayerSetup& second);

}  // namespace brightnet
