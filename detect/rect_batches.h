// Rectangular batches: images of like shapes together, in the smallest input that takes them letterboxed at the scale
// that they would have in the whole one. A 16:9 image fills 56 % of a square; the padding that is left out is neither
// computed nor looked at.
#pragma once

#include <vector>

#include "core/input_size.h"
#include "data/dataset.h"

namespace brightnet {

/// The smallest size with sides of multiples of `stride` for an image that is letterboxed into `size`. Inside it the
/// letterbox has the same scale, so that objects have the same pixels.
InputSize least_input(int image_width, int image_height, const InputSize& size, int stride);

/// Sorts the images by their ratio of width and height, so that those of a batch are alike. Images of the same ratio
/// stay in order.
std::vector<int> in_order_of_ratio(const Dataset& dataset, std::vector<int> order);

}  // namespace brightnet
