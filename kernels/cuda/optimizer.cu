// One optimizer step over all parameters of a model in one launch: gradient scaling (loss scale and
// clipping), the rule of kernels/math/optimizer.h and the moving average.
//
// Memory-bound: SGD with an average reads four arrays and writes three, 28 bytes per parameter; AdamW 36. Accesses
// are coalesced groups of four numbers, 16 bytes. The parameters are one flat array (layers/parameters.h); their
// learning-rate factors and weight decays are a list of a few hundred ranges in device memory. A thread's groups
// ascend, so it walks that list once from front to back, out of the L1 cache. A group that crosses the end of a range
// is updated element by element.
//
// Moments and averages are next used in the next step, after more memory than any cache holds: their accesses leave
// the caches to the values, which are converted to the working weights next.
//
// Whether the step is applied is read from the state in device memory: a skipped step is the same launch,
// which returns at once, so that a captured graph serves both.
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/vector.h"
#include "kernels/math/optimizer.h"

namespace brightnet::cuda {
namespace {

constexpr int update_threads = 256;
constexpr int group = 4;  ///< floats in 16 bytes

/// Loads numbers that nothing else reads before the next step.
template <int count>
__device__ __forceinline__ void load_state(const float* from, float (&values)[count]) {
  const Vector<float, count> vector = load_once<count>(from);
#pragma unroll
  for (int i = 0; i < count; ++i) values[i] = vector.element[i];
}
template <int count>
__device__ __forceinline__ void store_state(float* to, const float (&values)[count]) {
  Vector<float, count> vector;
#pragma unroll
  for (int i = 0; i < count; ++i) vector.element[i] = values[i];
  store_once<count>(to, vector);
}

/// Parameters [at, at + count) of one range: 1, or a whole group.
template <int count, bool average, typename Rule>
__device__ void update(const Rule& rule, const StepState& step, const OptimizerArrays& arrays,
                       const ParameterRange& range, size_t at) {
  const RangeStep of_range{rate_of(range, step), range.decay, step.first_correction, step.second_correction};
  const float ema_rate = 1.0f - step.ema_decay;
  constexpr bool has_second = Rule::moments > 1;
  float values[count], gradients[count], first[count], second[count], ema[count];
  load_floats(arrays.values + at, values);
  load_state(arrays.gradients + at, gradients);
  load_state(arrays.first + at, first);
  if constexpr (has_second) load_state(arrays.second + at, second);
  if constexpr (average) load_state(arrays.ema + at, ema);
#pragma unroll
  for (int i = 0; i < count; ++i) {
    Parameter p{values[i], step.gradient_factor * gradients[i], first[i], has_second ? second[i] : 0.0f};
    rule(of_range, p);
    values[i] = p.value;
    first[i] = p.first;
    if constexpr (has_second) second[i] = p.second;
    if constexpr (average) ema[i] += ema_rate * (p.value - ema[i]);
  }
  store_floats(arrays.values + at, values);
  store_state(arrays.first + at, first);
  if constexpr (has_second) store_state(arrays.second + at, second);
  if constexpr (average) store_state(arrays.ema + at, ema);
}

template <typename Rule, bool average>
__global__ void __launch_bounds__(update_threads)
    update_parameters(Rule rule, OptimizerArrays arrays, const ParameterRange* ranges, int range_count,
                      const StepState* state) {
  const StepState step = *state;
  if (!step.apply) return;
  int range = 0;  // the first that ends after the group
  for (size_t at = group * first_item(); at < arrays.count; at += group * item_step()) {
    while (range < range_count && ranges[range].end <= at) ++range;
    if (range == range_count) return;
    if (ranges[range].begin <= at && at + group <= ranges[range].end) {
      update<group, average>(rule, step, arrays, ranges[range], at);
      continue;
    }
    int own = range;
    for (size_t i = at; i < at + group && i < arrays.count; ++i) {
      while (own < range_count && ranges[own].end <= i) ++own;
      if (own == range_count) break;
      if (ranges[own].begin <= i) update<1, average>(rule, step, arrays, ranges[own], i);
    }
  }
}

template <typename Rule>
void update_all(const Rule& rule, const OptimizerArrays& arrays, std::span<const ParameterRange> ranges,
                const StepState* state, cudaStream_t stream) {
  if (arrays.count == 0 || ranges.empty()) return;
  const unsigned blocks = blocks_for((arrays.count + group - 1) / group, update_threads,
                                     static_cast<size_t>(multiprocessors()) * 8);
  // The traffic of a step that is applied.
  const size_t written = (1 + Rule::moments + (arrays.ema ? 1 : 0)) * arrays.count * sizeof(float);
  const Traffic traffic{written + arrays.count * sizeof(float) + ranges.size_bytes() + sizeof(StepState),
                        written};
  launch(arrays.ema ? update_parameters<Rule, true> : update_parameters<Rule, false>,
         Grid(blocks).moving(traffic), update_threads, 0, stream, rule, arrays, ranges.data(),
         static_cast<int>(ranges.size()), state);
}

__global__ void __launch_bounds__(update_threads)
    commit(float* values, float* kept, float* ema, size_t count, const StepState* state) {
  const bool applied = state->apply;
  const float ema_rate = 1.0f - state->ema_decay;
  const size_t groups = count / group;
  const auto commit_floats = [&]<int floats>(size_t at, std::integral_constant<int, floats>) {
    float current[floats];
    load_floats((applied ? values : kept) + at, current);
    store_floats((applied ? kept : values) + at, current);
    if (!applied || !ema) return;
    float averaged[floats];
    load_floats(ema + at, averaged);
#pragma unroll
    for (int i = 0; i < floats; ++i) averaged[i] += ema_rate * (current[i] - averaged[i]);
    store_floats(ema + at, averaged);
  };
  for (size_t i = first_item(); i < groups; i += item_step())
    commit_floats(group * i, std::integral_constant<int, group>());
  const size_t rest = group * groups + first_item();
  if (rest < count) commit_floats(rest, std::integral_constant<int, 1>());
}

}  // namespace

void CudaBackend::optimizer_step(const OptimizerRule& rule, const OptimizerArrays& arrays,
                                 std::span<const ParameterRange> ranges, const StepState* state) {
  std::visit(
      [&]<typename Rule>(const Rule& own) {
        BRIGHTNET_CHECK(
            arrays.values && arrays.gradients && arrays.first && (arrays.second || Rule::moments < 2),
            "an optimizer's step without its arrays");
        update_all(own, arrays, ranges, state, stream());
      },
      rule);
}

// 12 bytes per statistic and 12 more for the average; with some ten thousand of them, launch-bound.
void CudaBackend::commit_statistics(float* values, float* kept, float* ema, size_t count,
                                    const StepState* state) {
  if (count == 0) return;
  const size_t bytes = count * sizeof(float), average = ema ? bytes : 0;
  const Grid grid(blocks_for((count + group - 1) / group, update_threads));
  launch(commit, grid.moving({bytes + average, bytes + average}), update_threads, 0, stream(), values, kept,
         ema, count, state);
}

}  // namespace brightnet::cuda
