// Batch-norm with its activation, and sums over a channel, on the GPU.
#pragma once

#include "kernels/backend.h"
#include "kernels/cuda/runtime.h"

namespace brightnet::cuda {

/// Workspace of the functions below, in bytes; asks no GPU.
size_t channel_workspace(const Shape& shape);

/// The part of batch_norm_forward() that given sums spare: what they may cost to pay.
void read_for_statistics(const Tensor& y, void* workspace, cudaStream_t stream);
void batch_norm_forward(const BatchNormForward& op, cudaStream_t stream);
void batch_norm_backward(const BatchNormBackward& op, cudaStream_t stream);
void fold_batch_norm(const BatchNormFold& op, cudaStream_t stream);

}  // namespace brightnet::cuda
