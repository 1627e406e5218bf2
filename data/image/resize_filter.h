// The one resize filter of training and evaluation: crop, mirror, resize and colour change in a single pass,
// from the decoded image straight into the batch.
//
// The filter is a triangle: bilinear interpolation when enlarging; when shrinking, the triangle is widened by
// the shrink factor, so that every source pixel contributes and nothing aliases (what PIL and torchvision
// call antialiased bilinear). Rows are blended first (contiguous access), then columns, both in fp32; the
// result is rounded once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/image/color.h"

namespace brightnet {

/// An 8-bit image in memory, RGB or grey, or a window of it.
struct ImageView {
  const uint8_t* pixels = nullptr;               ///< the window's upper left pixel
  size_t stride = 0;                             ///< bytes from row to row
  int width = 0, height = 0;                     ///< size of the whole image in pixels
  int left = 0, top = 0, right = 0, bottom = 0;  ///< the window, inside the image
  int channels = 3;                              ///< 3: RGB; 1: grey
};

/// A part of an image in continuous coordinates (pixel i covers [i, i+1)). left > right mirrors.
struct Region {
  double left = 0, top = 0, right = 0, bottom = 0;
};

/// The destination, 8-bit, with as many channels as the image.
struct PixelBlock {
  uint8_t* pixels = nullptr;
  size_t stride = 0;  ///< bytes from row to row
  int width = 0, height = 0;
  int channels = 3;

  /// The number of bytes of a row's pixels, without the gap to the next row.
  size_t row_bytes() const { return channels * static_cast<size_t>(width); }
};

/// All of `pixels`, whose rows follow one another.
inline PixelBlock dense_block(uint8_t* pixels, int width, int height, int channels) {
  PixelBlock block{pixels, 0, width, height, channels};
  block.stride = block.row_bytes();
  return block;
}

/// Keeps the tables and rows of a resize, so that repeated resizing does not allocate. Each thread needs its own.
class ResizeFilter {
 public:
  /// Fills `out` with `region` of the image. Outside the image its border pixels are replicated. The window
  /// must contain every pixel that the filter reads (see reach()).
  void operator()(const ImageView& image, const Region& region, const PixelBlock& out,
                  const ColorChange& color);

  /// How far, in source pixels, the filter reads beyond a region that is resized from `from` to `to` pixels.
  static double reach(double from, int to);

  /// The source pixels of each output along one axis: `count` of them from first[i] on, weights summing
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
  std::vector<float> red_, green_, blue_;  // one row of the result; a grey image uses red_ alone
};

}  // namespace brightnet
