// Max-pools of large windows at stride 1 on the GPU, several of one tensor in one pass: YOLO's spatial
// pyramid.
#pragma once

#include <span>

#include "kernels/backend.h"
#include "kernels/cuda/runtime.h"

namespace brightnet::cuda {

/// y = the pools of `windows` at stride 1 in their order, then x: y has 1 + windows times the channels of x.
/// `argmax` receives each pool's winners, or is empty. y may be a slice.
void spatial_pyramid_forward(std::span<const int> windows, const Tensor& x, const Tensor& y,
                             std::span<const Tensor> argmax, cudaStream_t stream);
/// dx = or += what the pools' winners and x itself receive from dy.
void spatial_pyramid_backward(std::span<const int> windows, const Tensor& dy, std::span<const Tensor> argmax,
                              const Tensor& dx, bool accumulate, cudaStream_t stream);

/// The same of any pools at stride 1 whose outputs lie side by side in y. `with_input`: y's further channels
/// are x, and dx also receives those of dy.
void pool_large_windows(std::span<const PoolSpec> pools, const Tensor& x, const Tensor& y,
                        std::span<const Tensor> argmax, cudaStream_t stream, bool with_input = false);
void scatter_large_windows(std::span<const PoolSpec> pools, const Tensor& dy, std::span<const Tensor> argmax,
                           const Tensor& dx, bool accumulate, bool with_input, cudaStream_t stream);

}  // namespace brightnet::cuda
