// What a sample is put together from, drawn before any pixel is read. The CPU paints it (data/loader/sample.h), or a
// device does by itself (data/loader/picture_block.h).
#pragma once

#include <vector>

#include <opencv2/core.hpp>

#include "data/augment/pixels.h"
#include "data/image/homography.h"
#include "kernels/math/painting.h"

namespace brightnet {

/// An image of the data set in a sample, painted over those before it.
struct PlacedImage {
  static constexpr int none = -1;

  int image = none;     ///< index in the data set; none: fill_value is painted
  Homography map = {};  ///< map from the image to the input
  cv::Rect part = {};   ///< part of the input that it is painted for, with borders where it does not reach
  cv::Rect seen = {};   ///< the part of `part` that the sample shows
  ColorChange color = {};
  PixelDraw pixels = {};
  std::vector<cv::Rect> objects = {};  ///< places in `part` that a blur of the background leaves sharp
  Blend blend = Blend::replace;
  cv::Rect2f box = {};  ///< the object's box in the input, for Blend::soft
  float edge = 1;       ///< pixels around the box over which the image fades

  /// How much the object in the box counts at a pixel of the input.
  float share(int x, int y) const {
    return soft_weight(x, box.x, box.br().x, edge) * soft_weight(y, box.y, box.br().y, edge);
  }
};

}  // namespace brightnet
