// What the kernels of max-pooling share: where windows lie, and which of two elements wins.
#pragma once

#include "kernels/cuda/vector.h"
#include "kernels/max_pool.h"

namespace brightnet::cuda {

/// A pool between two dense tensors, checked.
struct PoolGeometry {
  int window, stride, before;
  int height, width, channels;  ///< of the input
  int out_height, out_width;

  PoolGeometry(const PoolSpec& pool, const Shape& x, const Shape& y)
      : window(pool.window),
        stride(pool.stride),
        before(pool.padding / 2),
        height(x.h),
        width(x.w),
        channels(x.c),
        out_height(y.h),
        out_width(y.w) {
    const bool fits = window >= 1 && window <= 15 && stride >= 1 && pool.padding >= 0 && before < window &&
                      x.n == y.n && x.c == y.c && (y.h - 1) * stride - before < x.h &&
                      (y.w - 1) * stride - before < x.w;
    BRIGHTNET_CHECK(fits, "max-pool of " + std::to_string(window) + '/' + std::to_string(stride) + '+' +
                              std::to_string(pool.padding) + " from " + to_string(x) + " to " + to_string(y) +
                              " has a window of more than 15 or one that misses the input");
  }
};

#ifdef BRIGHTNET_KERNELS

/// Whether a later element displaces the best so far: it is greater, or NaN.
__device__ __forceinline__ bool displaces(float candidate, float best) {
  return (candidate > best) | (candidate != candidate);  // no branch
}

#endif

}  // namespace brightnet::cuda
