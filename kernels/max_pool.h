// Max-pooling: where windows lie, and which of their elements wins. The same on every device.
#pragma once

#include <string>

#include "core/error.h"
#include "core/tensor.h"

namespace brightnet {

/// y[oy, ox] = the maximum of x over rows oy·stride − before ... + window − 1 and the same of columns, with
/// before = padding / 2 rounded down; what lies outside of x does not count. Of equal elements the first one
/// in the order of rows and columns wins; a NaN wins over every number, the last NaN over the others.
struct PoolSpec {
  /// In pixels; a window is 15 wide at most.
  int window = 2, stride = 2;
  /// In total, as in darknet: window − 1 by default, half of it (rounded down) before.
  int padding = 0;
};

/// That every window of y meets x, and that a winner's place fits a byte.
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
