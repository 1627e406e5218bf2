// Boxes on an image's pixels as they are stored, and on the image as it is shown: with its EXIF orientation applied.
#pragma once

#include <algorithm>

#include <opencv2/core.hpp>

#include "data/image/read_image.h"

namespace brightnet {

/// Whether labels that state this size for the image were drawn on its stored pixels. Sizes tell where the EXIF orientation
/// swaps the sides.
bool drawn_as_stored(cv::Size stated, const ImageInfo& image);

/// Where a point on the stored pixels is shown. The orientation is one that swaps the sides (5 … 8).
cv::Point2d turned_point(cv::Point2d stored, const ImageInfo& image);

/// With this in the place of `image`, turned_point() is the inverse: from the image as shown to its stored pixels.
ImageInfo turned_back(const ImageInfo& image);

/// Turns a box of corners x1, y1, x2, y2.
template <typename Box>
void turn_box(Box& box, const ImageInfo& image) {
  using Pixels = decltype(box.x1);
  const cv::Point2d a = turned_point({box.x1, box.y1}, image), b = turned_point({box.x2, box.y2}, image);
  box.x1 = static_cast<Pixels>(std::min(a.x, b.x));
  box.y1 = static_cast<Pixels>(std::min(a.y, b.y));
  box.x2 = static_cast<Pixels>(std::max(a.x, b.x));
  box.y2 = static_cast<Pixels>(std::max(a.y, b.y));
}

}  // namespace brightnet
