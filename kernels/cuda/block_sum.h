// Deterministic sums over a block's threads.
#pragma once

#include "kernels/cuda/vector.h"

#ifdef BRIGHTNET_KERNELS

namespace brightnet::cuda {

/// Σ value over the block, valid in every thread of its first warp. The block consists of whole warps, and
/// all of its threads call this.
template <typename T>
__device__ __forceinline__ T block_sum(T value) {
  BRIGHTNET_SHARED(T, of_warp, [warp_size]);
  const int lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
  value = warp_sum(value);
  __syncthreads();  // the sums before this one have been read
  if (lane == 0) of_warp[warp] = value;
  __syncthreads();
  if (warp > 0) return value;
  const int warps = static_cast<int>(blockDim.x) / warp_size;
  return warp_sum(lane < warps ? of_warp[lane] : T(0));
}

}  // namespace brightnet::cuda

#endif
