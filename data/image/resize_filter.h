// The one resize filter of training and evaluation: crop, mirror, resize and colour change in a single pass,
// from the decoded image straight into the batch.
//
// The filter is the triangle: bilinear interpolation when enlarging, and when shrinking the triangle widened
// by the shrink factor, so that every source pixel counts and nothing aliases (what PIL and torchvision call
// antialiased bilinear). Rows are blended first (contiguous, so it runs at the speed of the cache), then
// columns, both in fp32; the result is rounded once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/image/color.h"

namespace brightnet {

/// Pixels of an image in memory, 8-bit RGB: all of it, or a window of it.
struct ImageView {
  const uint8_t* pixels = nullptr;               ///< of the window's upper left pixel
  size_t stride = 0;                             ///< bytes from row to row
  int width = 0, height = 0;                     ///< of the whole image
  int left = 0, top = 0, right = 0, bottom = 0;  ///< the window, inside the image
};

/// A part of an image in continuous coordinates (pixel i covers [i, i+1)). left > right mirrors.
struct Region {
  double left = 0, top = 0, right = 0, bottom = 0;
};

/// Where the result goes, 8-bit RGB.
struct PixelBlock {
  uint8_t* pixels = nullptr;
  size_t stride = 0;  ///< bytes from row to row
  int width = 0, height = 0;
};

/// Holds the tables and rows that a resize needs, so that resizing again allocates nothing. One a thread.
class ResizeFilter {
 public:
  /// Fills `out` with `region` of the image. Outside the image its outermost pixels go on. The window must
  /// hold every pixel that the filter reaches (see reach()).
  void operator()(const ImageView& image, const Region& region, const PixelBlock& out,
                  const ColorChange& color);

  /// How far, in source pixels, the filter reads beyond a region that is resized from `from` to `to` pixels.
  static double reach(double from, int to);

  /// Which source pixels make each output along one axis: `count` of them from first[i] on, weights summing
  /// to 1.
  struct Taps {
    int count = 0;
    std::vector<int> first;
    std::vector<float> weights;  ///< outputs × count
    int begin = 0, end = 0;      ///< the source pixels that any output needs
    void compute(double from, double to, int outputs, int length);
  };

 private:
  Taps columns_, rows_;
  std::vector<float> blended_;             // one row of the source's columns, interleaved
  std::vector<float> red_, green_, blue_;  // one row of the result
};

}  // namespace brightnet
