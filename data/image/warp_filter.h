// Resamples an image that is turned, sheared or seen in perspective, with its colour change, in a single pass
// into the batch.
//
// Bilinear, so it must not shrink by much: data/loader/paint.cpp shrinks the image first where it would.
// Positions are computed in coordinates of the whole image, so that a window of it gives the same pixels.
#pragma once

#include <vector>

#include "data/image/homography.h"
#include "data/image/resize_filter.h"

namespace brightnet {

/// Keeps its workspace between calls, so that repeated use does not allocate. Each thread needs one of its own.
class WarpFilter {
 public:
  /// Fills `out` with what `to_image` (its pixels → those of the image, both with pixel i at [i, i+1)) finds
  /// inside `bounds` of the image, and with fill_value elsewhere. Where the filter reads beyond the image its
  /// border pixels are replicated. The window must contain every pixel that is read, which is at most one
  /// beyond what is shown.
  void operator()(const ImageView& image, const Homography& to_image, const cv::Rect2d& bounds,
                  const PixelBlock& out, const ColorChange& color);

 private:
  void locate(const Homography& to_image, int row, int width);
  void split(const ImageView& image, int first, int last);
  void blend(const ImageView& image, int first, int last);
  void blend_grey(const ImageView& image, int first, int last);

  // One output row: where its pixels lie in the image, the same places split into whole pixels and fractions, and the
  // result.
  std::vector<float> x_, y_, depth_;
  std::vector<int> columns_, rows_;
  std::vector<float> red_, green_, blue_;  // a grey image uses red_ alone
};

}  // namespace brightnet
