// Average pooling: window geometry, the same on every device.
#pragma once

#include <string>

#include "core/error.h"
#include "core/tensor.h"

namespace brightnet {

/// y[oy, ox] = the mean of x over rows [oy·stride − before, oy·stride − before + height) and columns likewise;
/// elements outside x do not count.
struct AveragePool {
  int height = 1, width = 1;  ///< height and width of the window in pixels
  int stride = 1, before = 0;
};

/// The window that is the whole of x: one pixel comes out.
inline AveragePool whole_map(const Shape& x) {
  return {x.h, x.w, 1, 0};
}

/// Checks that every window of y overlaps x.
inline void check_pool(const AveragePool& pool, const Shape& x, const Shape& y) {
  const auto fits = [&](int window, int in, int out) {
    return window >= 1 && pool.before < window && (out - 1) * pool.stride - pool.before < in;
  };
  BRIGHTNET_CHECK(pool.stride >= 1 && pool.before >= 0 && x.n == y.n && x.c == y.c &&
                      fits(pool.height, x.h, y.h) && fits(pool.width, x.w, y.w),
                  "an average over " + std::to_string(pool.width) + 'x' + std::to_string(pool.height) +
                      " pixels from " + to_string(x) + " to " + to_string(y) + " misses the input");
}

}  // namespace brightnet
