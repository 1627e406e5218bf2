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

struct RectBatches {
  std::vector<int> order;        ///< the images, sorted by their ratio of width and height
  std::vector<InputSize> sizes;  ///< the input size of each batch, which its images need
};

/// Sorts the images by their ratio of width and height and divides them into batches. Images of the same ratio stay
/// in order.
RectBatches rect_batches(const Dataset& dataset, std::vector<int> order, int batch, const InputSize& size,
                         int stride);

}  // namespace brightnet
