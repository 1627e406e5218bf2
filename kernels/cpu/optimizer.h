// Optimizer steps and the moving average of weights on the CPU.
#pragma once

#include <span>

#include "kernels/backend.h"

namespace brightnet::cpu {

/// For every parameter w with gradient g in a range, in one pass over memory, with the step's state s:
///
///     rate = s.rate · range.rate
///     g' = s.gradient_factor · g + decay · w
///     v  = momentum · v + g'
///     w −= rate · (nesterov ? g' + momentum · v : v)
///     ema = s.ema_decay · ema + (1 − s.ema_decay) · w        (where `ema` is given)
///
/// v is `first`. The decay is coupled, as darknet's L2: it enters the momentum. Nothing outside the ranges is
/// touched, the average neither; a range of rate 0 keeps its w, but its v and its average move. A step that
/// is not to be applied touches nothing. The ranges do not overlap; the number of threads does not change the
/// result.
void sgd_step(const SgdStep& sgd, const OptimizerArrays& arrays, std::span<const ParameterRange> ranges,
              const StepState& state);

/// AdamW (Loshchilov & Hutter 2019, algorithm 2), with m = `first` and v = `second`; the state has the
/// corrections 1/(1 − βᵗ):
///
///     g' = s.gradient_factor · g
///     m  = β₁ m + (1 − β₁) g'        v = β₂ v + (1 − β₂) g'²
///     w −= rate · ( m/(1 − β₁ᵗ) / (√(v/(1 − β₂ᵗ)) + ε) + decay · w )
///
/// and the average as in sgd_step(), which see for ranges.
void adamw_step(const AdamWStep& adam, const OptimizerArrays& arrays, std::span<const ParameterRange> ranges,
                const StepState& state);

/// See Backend::settle_statistics.
void settle_statistics(float* values, float* kept, float* ema, size_t count, const StepState& state);

}  // namespace brightnet::cpu
