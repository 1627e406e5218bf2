// Checks that the gradient is finite, and computes its norm: one pass over all gradients and the running
// statistics, Σ x² of each in fp64. The square of a float is exact there and cannot overflow, so the sum is
// infinite or NaN exactly when an element is. Then one thread decides the step (kernels/math/loss_scaler.h).
//
// It must read every gradient once, 4 bytes a parameter, and writes next to nothing. Two stages make the order of
// additions, and with it the last bit, depend on the arrays' lengths alone: a number of blocks that is fixed by them,
// each thread summing groups of four at a fixed distance, a tree in each block; then one block adds up the blocks. The
// unscaling needs no pass of its own: the factor 1/loss_scale goes into the update (kernels/cuda/optimizer.cu).
#include "kernels/cuda/block_sum.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/math/loss_scaler.h"

namespace brightnet::cuda {
namespace {

constexpr int check_threads = 256;
constexpr unsigned most_gradient_blocks = 960, most_statistic_blocks = 64;
static_assert((most_gradient_blocks + most_statistic_blocks) * sizeof(double) <= step_workspace_bytes);

/// Blocks that sum an array: each thread has at least a few groups of four.
unsigned blocks_of(size_t count, unsigned most) {
  return count == 0 ? 0 : blocks_for(count, size_t{check_threads} * 16, most);
}

struct Elements {
  const float* data;
  size_t count;
};

__device__ double squares_of_thread(const Elements& x, unsigned block, unsigned blocks) {
  double sums[4] = {};
  const size_t groups = x.count / 4, step = static_cast<size_t>(blocks) * check_threads;
  for (size_t group = static_cast<size_t>(block) * check_threads + threadIdx.x; group < groups;
       group += step) {
    float values[4];
    load_floats(x.data + 4 * group, values);
#pragma unroll
    for (int i = 0; i < 4; ++i) sums[i] += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  }
  const size_t rest = 4 * groups + threadIdx.x;
  if (block == 0 && rest < x.count)
    sums[0] += static_cast<double>(x.data[rest]) * static_cast<double>(x.data[rest]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

__global__ void __launch_bounds__(check_threads)
    sum_squares(Elements gradients, Elements statistics, unsigned gradient_blocks, double* partial) {
  const bool of_gradient = blockIdx.x < gradient_blocks;
  const double own =
      of_gradient ? squares_of_thread(gradients, blockIdx.x, gradient_blocks)
                  : squares_of_thread(statistics, blockIdx.x - gradient_blocks, gridDim.x - gradient_blocks);
  const double sum = block_sum(own);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

__device__ double sum_of_partials(const double* partial, unsigned count) {
  double sum = 0;
  for (unsigned i = threadIdx.x; i < count; i += check_threads) sum += partial[i];
  return block_sum(sum);
}

__global__ void __launch_bounds__(check_threads)
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
    const Traffic traffic{(evidence.gradient_count + evidence.statistic_count) * sizeof(float),
                          blocks * sizeof(double)};
    launch(sum_squares, Grid(blocks).moving(traffic), check_threads, 0, stream(),
           Elements{evidence.gradients, evidence.gradient_count},
           Elements{evidence.statistics, evidence.statistic_count}, gradient_blocks, partial);
  }
  const Traffic traffic{(gradient_blocks + statistic_blocks) * sizeof(double) + sizeof(StepState),
                        sizeof(StepState)};
  launch(decide, Grid(1).moving(traffic), check_threads, 0, stream(), policy, partial, gradient_blocks,
         statistic_blocks, state);
}

}  // namespace brightnet::cuda
