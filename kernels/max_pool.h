// Max-pooling: window geometry and tie-breaking, the same on every device.
#pragma once

#include <string>

#include "core/error.h"
#include "core/tensor.h"

namespace brightnet {

/// y[oy, ox] = the maximum of x over rows [oy·stride − before, oy·stride − before + window), and likewise
/// columns, with before = ⌊padding / 2⌋; elements outside x are ignored. Of equal elements the first in
/// row-major order wins; a NaN wins over every number, and the last NaN over the others.
struct PoolSpec {
  /// Both are in pixels; window ≤ 15.
  int window = 2, stride = 2;
  /// Total of both sides, as in darknet, where window − 1 is the default.
  int padding = 0;
};

/// Checks that every window of y overlaps x, and that a position in the window fits into a byte.
inline void check_pool(const PoolSpec& pool, const Shape& x, const Shape& y) {
  const int before = pool.padding / 2;
  const bool fits = pool.window >= 1 && pool.window <= 15 && pool.stride >= 1 && pool.padding >= 0 &&
                    before < pool.window && x.n == y.n && x.c == y.c &&
                    (y.h - 1) * pool.stride - before < x.h && (y.w - 1) * pool.stride - before < x.w;
  BRIGHTNET_CHECK(fits, "max-pool of " + std::to_string(pool.window) + '/' + std::to_string(pool.stride) +
                            '+' + std::to_string(pool.padding) + " from " + to_string(x) + " to " +
                            to_string(y) + " has a window of more than 15 or one that misses the input");
}

}  // namespace brightnet
