// Max-pools of large windows at stride 1 on the GPU, several of one tensor in one pass:
// YOLO's spatial pyramid.
#pragma once

#include <span>

#include "kernels/backend.h"
#include "kernels/cuda/runtime.h"

namespace brightnet::cuda {

/// y = pools at stride 1 of x, whose outputs lie side by side in y, which may be a slice; `argmax` receives
/// each pool's winners, or is empty. `with_input`: y's further channels are x.
void pool_large_windows(std::span<const PoolSpec> pools, const Tensor& x, const Tensor& y,
                        std::span<const Tensor> argmax, cudaStream_t stream, bool with_input = false);
/// dx = or += what the pools' winners receive from dy, and with_input what x itself does.
void scatter_large_windows(std::span<const PoolSpec> pools, const Tensor& dy, std::span<const Tensor> argmax,
                           const Tensor& dx, bool accumulate, bool with_input, cudaStream_t stream);

}  // namespace brightnet::cuda
