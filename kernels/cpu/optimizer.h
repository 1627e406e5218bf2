// Optimizer steps and the moving average of weights on the CPU.
#pragma once

#include <span>

#include "kernels/backend.h"

namespace brightnet::cpu {

/// For every parameter w with gradient g in a range, in one pass over memory:
///
///     g' = gradient_scale · g + decay · w
///     v  = momentum · v + g'
///     w −= rate · (nesterov ? g' + momentum · v : v)
///     ema = ema_decay · ema + (1 − ema_decay) · w        (where `ema` is given)
///
/// v is `first`. The decay is coupled, as darknet's L2: it enters the momentum. Nothing outside the ranges is
/// touched, the average neither; a range of rate 0 keeps its w, but its v and its average move.
/// The ranges do not overlap; their order and the number of threads do not change the result.
void sgd_step(const SgdStep& sgd, const OptimizerArrays& arrays, std::span<const ParameterRange> ranges);

/// AdamW (Loshchilov & Hutter 2019, algorithm 2), with m = `first` and v = `second`; t = `step`:
///
///     g' = gradient_scale · g
///     m  = β₁ m + (1 − β₁) g'        v = β₂ v + (1 − β₂) g'²
///     w −= rate · ( m/(1 − β₁ᵗ) / (√(v/(1 − β₂ᵗ)) + ε) + decay · w )
///
/// and the average as in sgd_step(), which see for ranges.
void adamw_step(const AdamWStep& adam, const OptimizerArrays& arrays, std::span<const ParameterRange> ranges);

/// ema = decay · ema + (1 − decay) · values.
void ema_step(float* ema, const float* values, size_t count, float decay);

}  // namespace brightnet::cpu
