// Several max-pools of large windows at stride 1 over one tensor in one pass: YOLO's spatial pyramid.
#pragma once

#include <span>

#include "kernels/backend.h"
#include "kernels/cuda/runtime.h"

namespace brightnet::cuda {

/// y = concat(pools of x at stride 1, and x if `with_input`); y may be a slice. `argmax` receives the
/// position of each pool's maxima, or is empty.
void pool_large_windows(std::span<const PoolSpec> pools, const Tensor& x, const Tensor& y,
                        std::span<const Tensor> argmax, cudaStream_t stream, bool with_input = false);
/// The gradient of pool_large_windows(): dx = or += dy, scattered to the pools' maxima, plus dy of x
/// if `with_input`.
void scatter_large_windows(std::span<const PoolSpec> pools, const Tensor& dy, std::span<const Tensor> argmax,
                           const Tensor& dx, bool accumulate, bool with_input, cudaStream_t stream);

}  // namespace brightnet::cuda
