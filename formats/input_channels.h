// Weights of RGB networks for networks with one channel.
//
// A grey image gives an RGB network the same value g in all three channels, and w_r·g + w_g·g + w_b·g = (w_r + w_g +
// w_b)·g: the first convolution's weights, summed over the colours, make the same outputs of the grey channel alone.
#pragma once

#include <set>
#include <span>
#include <string>

#include "layers/model/model.h"

namespace brightnet {

/// The parameters that are weights of the input's channels, by name: those of convolutions that read the images.
std::set<std::string> weights_of_input(const Model& model);

/// Sums weights over their last dimension, the `channels` input channels (OHWI): from.size() / channels sums.
void sum_channels(std::span<const float> from, int channels, float* sums);

}  // namespace brightnet
