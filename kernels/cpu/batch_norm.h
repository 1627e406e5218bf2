// Batch-norm with its activation, and sums over a channel, on the CPU.
#pragma once

#include "kernels/backend.h"

namespace brightnet::cpu {

/// Workspace of the functions below, in bytes: per-thread partial sums and per-channel coefficients.
size_t channel_workspace(const Shape& shape);

void batch_norm_forward(const BatchNormForward& op);
void batch_norm_backward(const BatchNormBackward& op);
void fold_batch_norm(const BatchNormFold& op);
/// db[c] = or += Σ dy.
void bias_gradient(const Tensor& dy, float* db, bool accumulate, void* workspace,
                   StatisticsExchange* exchange);

}  // namespace brightnet::cpu
