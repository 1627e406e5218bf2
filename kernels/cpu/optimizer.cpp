// The step is memory-bound: SGD with an average reads four arrays and writes three. Gradient scaling, decay,
// momentum, update and average are one loop, so that each array is touched once. The ranges (a few hundred,
// some of ten elements) form one sequence of elements divided evenly among the threads.
#include <algorithm>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/elementwise.h"
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

template <bool average, typename Rule>
void update(const Rule& given, const OptimizerArrays& arrays, const StepState& state,
            const ParameterRange& range, size_t begin, size_t end) {
  const Rule rule = given;  // own, so that no store is taken to change it
  float* const values = arrays.values;
  float* const first = arrays.first;
  float* const second = arrays.second;
  float* const ema = arrays.ema;
  const float* const gradients = arrays.gradients;
  const RangeStep step{rate_of(range, state), range.decay, state.first_correction, state.second_correction};
  const float scale = state.gradient_factor, ema_rate = 1.0f - state.ema_decay;
#pragma omp simd
  for (size_t i = begin; i < end; ++i) {
    Parameter p{values[i], scale * gradients[i], first[i], 0.0f};
    if constexpr (Rule::moments > 1) p.second = second[i];
    rule(step, p);
    values[i] = p.value;
    first[i] = p.first;
    if constexpr (Rule::moments > 1) second[i] = p.second;
    if constexpr (average) ema[i] = moved_towards(ema[i], p.value, ema_rate);
  }
}

template <bool average, typename Rule>
void update_all(const Rule& rule, const OptimizerArrays& arrays, std::span<const ParameterRange> ranges,
                const StepState& state) {
  constexpr size_t traffic = (3 + 2 * Rule::moments + (average ? 2 : 0)) * sizeof(float);
  parallel_parameters(ranges, traffic, [&](const ParameterRange& range, size_t begin, size_t end) {
    update<average>(rule, arrays, state, range, begin, end);
  });
}

}  // namespace

void CpuBackend::check_step(const StepPolicy& policy, const StepEvidence& evidence, StepState* state, void*) {
  decide_step(policy, sum_of_squares(evidence.gradients, evidence.gradient_count),
              sum_of_squares(evidence.statistics, evidence.statistic_count), *state);
}

void CpuBackend::optimizer_step(const OptimizerRule& rule, const OptimizerArrays& arrays,
                                std::span<const ParameterRange> ranges, const StepState* state) {
  std::visit(
      [&]<typename Rule>(const Rule& own) {
        BRIGHTNET_CHECK(
            arrays.values && arrays.gradients && arrays.first && (arrays.second || Rule::moments < 2),
            "an optimizer's step without its arrays");
        if (!state->apply) return;
        arrays.ema ? update_all<true>(own, arrays, ranges, *state)
                   : update_all<false>(own, arrays, ranges, *state);
      },
      rule);
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
