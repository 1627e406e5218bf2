// Window geometry and comparison, shared by the max-pooling kernels.
#pragma once

#include "kernels/cuda/vector.h"
#include "kernels/max_pool.h"

namespace brightnet::cuda {

/// A pool between two dense tensors, checked.
struct PoolGeometry {
  int window, stride, before;
  int height, width, channels;  ///< shape of the input
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
    check_pool(pool, x, y);
  }
};

#ifdef BRIGHTNET_KERNELS

/// Whether a later element replaces the maximum so far: it is greater, or NaN.
__device__ __forceinline__ bool displaces(float candidate, float best) {
  return (candidate > best) | (candidate != candidate);  // no branch
}

#endif

}  // namespace brightnet::cuda
