// The step is memory-bound: SGD with an average reads four arrays and writes three. Gradient scaling, decay,
// momentum, update and average are one loop, so that each array is touched once. The ranges (a few hundred,
// some of ten elements) form one sequence of elements divided evenly among the threads.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/reduction.h"
#include "kernels/cpu/vector_types.h"
#include "kernels/math/loss_scaler.h"

namespace brightnet::cpu {

namespace {

/// Calls body(range, begin, end) in parallel for pieces that cover every range once.
template <typename Body>
void parallel_parameters(std::span<const ParameterRange> ranges, size_t bytes_per_parameter, Body&& body) {
  size_t total = 0;
  for (const ParameterRange& range : ranges) {
    BRIGHTNET_CHECK(range.begin <= range.end, "a parameter range ends before it begins");
    total += range.end - range.begin;
  }
  parallel_elements(total, bytes_per_parameter, [&](size_t begin, size_t end) {
    size_t before = 0;  // parameters in the ranges before this one
    for (const ParameterRange& range : ranges) {
      const size_t size = range.end - range.begin;
      const size_t from = std::max(begin, before), to = std::min(end, before + size);
      if (from < to) body(range, range.begin + from - before, range.begin + to - before);
      before += size;
      if (before >= end) break;
    }
  });
}

/// The moving average, in the form that is exact when ema and value are equal.
inline float moved_towards(float ema, float value, float step) {
  return ema + step * (value - ema);
}

template <bool nesterov, bool average>
void sgd_part(const SgdStep& sgd, const OptimizerArrays& arrays, const StepState& state,
              const ParameterRange& range, size_t begin, size_t end) {
  float* const values = arrays.values;
  float* const velocity = arrays.first;
  float* const ema = arrays.ema;
  const float* const gradients = arrays.gradients;
  const float scale = state.gradient_factor, rate = rate_of(range, state), momentum = sgd.momentum;
  // The decay is part of the gradient (coupled) or applied to the weight (decoupled).
  const float decay = sgd.decoupled ? 0.0f : range.decay,
              kept = 1.0f - (sgd.decoupled ? rate * range.decay : 0.0f);
  const float ema_rate = 1.0f - state.ema_decay;
#pragma omp simd
  for (size_t i = begin; i < end; ++i) {
    const float w = values[i];
    const float g = scale * gradients[i] + decay * w;
    const float v = momentum * velocity[i] + g;
    const float updated = kept * w - rate * (nesterov ? g + momentum * v : v);
    velocity[i] = v;
    values[i] = updated;
    if constexpr (average) ema[i] = moved_towards(ema[i], updated, ema_rate);
  }
}

template <bool average>
void adamw_part(const AdamWStep& adam, const OptimizerArrays& arrays, const StepState& state,
                const ParameterRange& range, size_t begin, size_t end) {
  float* const values = arrays.values;
  float* const first = arrays.first;
  float* const second = arrays.second;
  float* const ema = arrays.ema;
  const float* const gradients = arrays.gradients;
  const float scale = state.gradient_factor, decay = range.decay, rate = rate_of(range, state);
  const float ema_rate = 1.0f - state.ema_decay;
  const float first_correction = state.first_correction, second_correction = state.second_correction;
  const AdamWStep a = adam;
#pragma omp simd
  for (size_t i = begin; i < end; ++i) {
    const float w = values[i];
    const float g = scale * gradients[i];
    const float m = a.beta1 * first[i] + (1.0f - a.beta1) * g;
    const float v = a.beta2 * second[i] + (1.0f - a.beta2) * g * g;
    const float direction = m * first_correction / (std::sqrt(v * second_correction) + a.epsilon);
    const float updated = w - rate * (direction + decay * w);
    first[i] = m;
    second[i] = v;
    values[i] = updated;
    if constexpr (average) ema[i] = moved_towards(ema[i], updated, ema_rate);
  }
}

/// Calls body.template operator()<value>().
template <typename Body>
void with_constant(bool value, Body&& body) {
  if (value) {
    body.template operator()<true>();
  } else {
    body.template operator()<false>();
  }
}

}  // namespace

void CpuBackend::check_step(const StepPolicy& policy, const StepEvidence& evidence, StepState* state, void*) {
  decide_step(policy, sum_of_squares(evidence.gradients, evidence.gradient_count),
              sum_of_squares(evidence.statistics, evidence.statistic_count), *state);
}

void CpuBackend::sgd_step(const SgdStep& sgd, const OptimizerArrays& arrays,
                          std::span<const ParameterRange> ranges, const StepState* state) {
  BRIGHTNET_CHECK(arrays.values && arrays.gradients && arrays.first, "an SGD step without its arrays");
  if (!state->apply) return;
  with_constant(sgd.nesterov, [&]<bool nesterov>() {
    with_constant(arrays.ema != nullptr, [&]<bool average>() {
      constexpr size_t traffic = (average ? 7 : 5) * sizeof(float);
      parallel_parameters(ranges, traffic, [&](const ParameterRange& range, size_t begin, size_t end) {
        sgd_part<nesterov, average>(sgd, arrays, *state, range, begin, end);
      });
    });
  });
}

void CpuBackend::adamw_step(const AdamWStep& adam, const OptimizerArrays& arrays,
                            std::span<const ParameterRange> ranges, const StepState* state) {
  BRIGHTNET_CHECK(arrays.values && arrays.gradients && arrays.first && arrays.second,
                  "an AdamW step without its arrays");
  if (!state->apply) return;
  with_constant(arrays.ema != nullptr, [&]<bool average>() {
    constexpr size_t traffic = (average ? 9 : 7) * sizeof(float);
    parallel_parameters(ranges, traffic, [&](const ParameterRange& range, size_t begin, size_t end) {
      adamw_part<average>(adam, arrays, *state, range, begin, end);
    });
  });
}

void CpuBackend::commit_statistics(float* values, float* kept, float* ema, size_t count,
                                   const StepState* state) {
  parallel_elements(count, 5 * sizeof(float), [&](size_t begin, size_t end) {
    if (!state->apply) {
      std::copy(kept + begin, kept + end, values + begin);
      return;
    }
    std::copy(values + begin, values + end, kept + begin);
    if (!ema) return;
    const float rate = 1.0f - state->ema_decay;
#pragma omp simd
    for (size_t i = begin; i < end; ++i) ema[i] = moved_towards(ema[i], values[i], rate);
  });
}

}  // namespace brightnet::cpu
