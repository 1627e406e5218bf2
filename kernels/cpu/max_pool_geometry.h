// Window geometry and comparison, shared by max-pooling forward and backward, and where a pixel lies, by all pooling.
#pragma once

#include <algorithm>

#include "core/tensor.h"
#include "kernels/max_pool.h"

namespace brightnet::cpu {

/// Channels of an intermediate result on the stack.
constexpr int pool_channels = 64;

/// The window of one output, clipped to rows [first_row, last_row) of the input, and likewise columns.
struct PoolWindow {
  int top = 0, left = 0;  ///< first row and column of the unclipped window; may be negative
  int first_row = 0, last_row = 0, first_column = 0, last_column = 0;
};

class PoolGeometry {
 public:
  PoolGeometry(const PoolSpec& pool, const Shape& x, const Shape& y)
      : window(pool.window), stride(pool.stride), before(pool.padding / 2), x(x), y(y) {
    check_pool(pool, x, y);
  }

  PoolWindow at(int row, int column) const {
    PoolWindow w;
    w.top = row * stride - before;
    w.left = column * stride - before;
    w.first_row = std::max(w.top, 0);
    w.last_row = std::min(w.top + window, x.h);
    w.first_column = std::max(w.left, 0);
    w.last_column = std::min(w.left + window, x.w);
    return w;
  }

  const int window, stride, before;
  const Shape x, y;
};

/// Offset of a pixel's first channel.
inline size_t pixel_offset(const Shape& shape, int image, int row, int column) {
  return ((static_cast<size_t>(image) * shape.h + row) * shape.w + column) * shape.c;
}

/// Whether a later element replaces the maximum so far: it is greater, or NaN. No short-circuit, which would
/// keep g++ from vectorising.
inline bool displaces(float candidate, float best) {
  return (candidate > best) | (candidate != candidate);
}

}  // namespace brightnet::cpu
