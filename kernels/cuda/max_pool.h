// Max-pooling and spatial pyramids on the GPU. Which element of a window wins is defined in
// kernels/cpu/max_pool.h, and is the same here.
#pragma once

#include <span>

#include "kernels/backend.h"
#include "kernels/cuda/runtime.h"

namespace brightnet::cuda {

void max_pool_forward(const PoolSpec& pool, const Tensor& x, const Tensor& y, const Tensor& argmax,
                      cudaStream_t stream);
/// Sums are fp32, in an order that never changes.
void max_pool_backward(const PoolSpec& pool, const Tensor& dy, const Tensor& argmax, const Tensor& dx,
                       bool accumulate, cudaStream_t stream);

}  // namespace brightnet::cuda
