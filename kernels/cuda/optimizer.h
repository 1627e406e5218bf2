// The optimizer step on the GPU: judging the gradient, and the update of all parameters. What each computes
// is said in kernels/backend.h and kernels/math/loss_scaler.h.
#pragma once

#include <span>

#include "kernels/backend.h"
#include "kernels/cuda/runtime.h"

namespace brightnet::cuda {

/// See Backend::judge_step. The result is the same to the bit in every run.
void judge_step(const StepPolicy& policy, const StepEvidence& evidence, StepState* state, void* workspace,
                cudaStream_t stream);

/// See Backend::sgd_step and adamw_step. Arrays are 16-byte aligned.
void sgd_step(const SgdStep& sgd, const OptimizerArrays& arrays, std::span<const ParameterRange> ranges,
              const StepState* state, cudaStream_t stream);
void adamw_step(const AdamWStep& adam, const OptimizerArrays& arrays, std::span<const ParameterRange> ranges,
                const StepState* state, cudaStream_t stream);

/// See Backend::settle_statistics. Arrays are 16-byte aligned.
void settle_statistics(float* values, float* kept, float* ema, size_t count, const StepState* state,
                       cudaStream_t stream);

}  // namespace brightnet::cuda
