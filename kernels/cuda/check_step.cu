// Checks that the gradient is finite, and computes its norm: one pass over all gradients and the running
// statistics, Σ x² of each in fp64. The square of a float is exact there and cannot overflow, so the sum is
// infinite or NaN exactly when an element is. Then one thread decides the step (kernels/math/loss_scaler.h).
//
// It must read every gradient once, 4 bytes a parameter, or 2 where a convolution left it in 16 bits, and writes
// next to nothing. Two stages make the order of additions, and with it the last bit, depend on the arrays' lengths
// alone: a number of blocks that is fixed by them, each thread summing groups of four at a fixed distance, a tree in
// each block; then one block adds up the blocks. A gradient's type decides where it is read, not which thread adds it
// and when, so that the norm is that of the widened gradients to the bit. The unscaling needs no pass of its own: the
// factor 1/loss_scale goes into the update (kernels/cuda/optimizer.cu).
#include "kernels/cuda/block_sum.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/gradients.h"
#include "kernels/math/loss_scaler.h"

namespace brightnet::cuda {
namespace {

constexpr int block_threads = 256;
constexpr unsigned most_gradient_blocks = 960, most_statistic_blocks = 64;
static_assert((most_gradient_blocks + most_statistic_blocks) * sizeof(double) <= step_workspace_bytes);

/// Blocks that sum an array: each thread has at least a few groups of four.
unsigned blocks_of(size_t count, unsigned most) {
  return count == 0 ? 0 : blocks_for(count, size_t{block_threads} * 16, most);
}

/// An array of which some ranges may be in 16 bits.
struct Elements {
  const float* data;
  size_t count;
  const ParameterRange* ranges;
  int range_count;
};

/// Elements [at, at + 4), which are of one type and ascend from call to call: `range`, 0 at first, is where the last
/// call found them.
__device__ __forceinline__ void load_group(const Elements& x, int& range, size_t at, float (&values)[4]) {
  while (range < x.range_count && x.ranges[range].end <= at) ++range;
  if (range < x.range_count && x.ranges[range].begin <= at) {
    with_gradients(x.data, x.ranges[range], at, [&](const auto* from) { load_floats(from, values); });
  } else {
    load_floats(x.data + at, values);
  }
}

/// `rounded`: some ranges are in 16 bits; otherwise no load depends on another. None of them are the last elements,
/// fewer than four.
template <bool rounded>
__device__ double squares_of_thread(const Elements& x, unsigned block, unsigned blocks) {
  double sums[4] = {};
  [[maybe_unused]] int range = 0;
  const size_t groups = x.count / 4, step = static_cast<size_t>(blocks) * block_threads;
  for (size_t group = static_cast<size_t>(block) * block_threads + threadIdx.x; group < groups;
       group += step) {
    float values[4];
    if constexpr (rounded) {
      load_group(x, range, 4 * group, values);
    } else {
      load_floats(x.data + 4 * group, values);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) sums[i] += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  }
  const size_t rest = 4 * groups + threadIdx.x;
  if (block == 0 && rest < x.count)
    sums[0] += static_cast<double>(x.data[rest]) * static_cast<double>(x.data[rest]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

template <bool rounded>
__global__ void __launch_bounds__(block_threads)
    sum_squares(Elements gradients, Elements statistics, unsigned gradient_blocks, double* partial) {
  const bool of_gradient = blockIdx.x < gradient_blocks;
  const double own = of_gradient ? squares_of_thread<rounded>(gradients, blockIdx.x, gradient_blocks)
                                 : squares_of_thread<false>(statistics, blockIdx.x - gradient_blocks,
                                                            gridDim.x - gradient_blocks);
  const double sum = block_sum(own);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

__device__ double sum_of_partials(const double* partial, unsigned count) {
  double sum = 0;
  for (unsigned i = threadIdx.x; i < count; i += block_threads) sum += partial[i];
  return block_sum(sum);
}

__global__ void __launch_bounds__(block_threads)
    decide(StepPolicy policy, const double* partial, unsigned gradient_blocks, unsigned statistic_blocks,
           StepState* state) {
  const double gradient = sum_of_partials(partial, gradient_blocks);
  const double statistics = sum_of_partials(partial + gradient_blocks, statistic_blocks);
  if (threadIdx.x == 0) decide_step(policy, gradient, statistics, *state);
}

}  // namespace

void CudaBackend::check_step(const StepPolicy& policy, const StepEvidence& evidence, StepState* state,
                             void* workspace) {
  const unsigned gradient_blocks = blocks_of(evidence.gradient_count, most_gradient_blocks);
  const unsigned statistic_blocks = blocks_of(evidence.statistic_count, most_statistic_blocks);
  auto* const partial = static_cast<double*>(workspace);
  if (gradient_blocks + statistic_blocks > 0) {
    const unsigned blocks = gradient_blocks + statistic_blocks;
    const Traffic traffic{gradient_bytes(evidence.gradient_count, evidence.rounded_gradients) +
                              evidence.ranges.size_bytes() + evidence.statistic_count * sizeof(float),
                          blocks * sizeof(double)};
    launch(evidence.ranges.empty() ? sum_squares<false> : sum_squares<true>, Grid(blocks).moving(traffic),
           block_threads, 0, stream(),
           Elements{evidence.gradients, evidence.gradient_count, evidence.ranges.data(),
                    static_cast<int>(evidence.ranges.size())},
           Elements{evidence.statistics, evidence.statistic_count, nullptr, 0}, gradient_blocks, partial);
  }
  const Traffic traffic{(gradient_blocks + statistic_blocks) * sizeof(double) + sizeof(StepState),
                        sizeof(StepState)};
  launch(decide, Grid(1).moving(traffic), block_threads, 0, stream(), policy, partial, gradient_blocks,
         statistic_blocks, state);
}

}  // namespace brightnet::cuda
