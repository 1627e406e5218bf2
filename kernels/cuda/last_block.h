// A grid whose last block goes on with what all of its blocks wrote, which saves a launch for a few microseconds of
// work. Tickets are counters in device memory that are 0 before and after each launch.
#pragma once

#include "kernels/cuda/runtime.h"

namespace brightnet::cuda {

/// How many tickets a backend has (CudaBackend::tickets()). Its operations follow one another, so that all use the same ones.
constexpr unsigned most_tickets = 8192;

#ifdef BRIGHTNET_KERNELS

/// Whether this is the last of `blocks` blocks to come here with this ticket. Then it sees what the others wrote before
/// they came. All threads call it, and get the same answer.
__device__ __forceinline__ bool is_last_block(unsigned* ticket, unsigned blocks) {
  BRIGHTNET_SHARED(unsigned, earlier, );
  __syncthreads();  // all threads have written, and read `earlier` of the call before
  if (threadIdx.x == 0) {
    __threadfence();
    earlier = atomicInc(ticket, blocks - 1);  // the last one's sets it back to 0
    __threadfence();
  }
  __syncthreads();
  return earlier == blocks - 1;
}

#endif

}  // namespace brightnet::cuda
