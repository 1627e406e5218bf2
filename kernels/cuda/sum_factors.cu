// A few hundred numbers, once a step: a thread a channel. The gradient of weights that all channels share is
// summed over these by one block.
#include "kernels/cuda/block_sum.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/sum_factors.h"

namespace brightnet::cuda {
namespace {

constexpr int factor_threads = 256;

__global__ void __launch_bounds__(factor_threads)
    factors_kernel(SumWeights sum, const float* weights, float* factors) {
  const int channel = static_cast<int>(first_item());
  if (channel >= sum.channels) return;
  sum_factors_of(sum, weights + (is_shared(sum.weighting) ? 0 : channel), factors + channel);
}

struct GradientOfFactor {
  const float* gradient;
  int step;

  __device__ float operator()(int input) const { return gradient[input * step]; }
};

__global__ void __launch_bounds__(factor_threads)
    channel_gradient_kernel(SumWeights sum, const float* weights, const float* factor_gradient,
                            float* gradient, bool accumulate) {
  const int channel = static_cast<int>(first_item());
  if (channel >= sum.channels) return;
  sum_weight_gradient(sum, weights + channel, gradient + channel, accumulate,
                      GradientOfFactor{factor_gradient + channel, sum.channels});
}

__global__ void __launch_bounds__(factor_threads)
    input_gradient_kernel(SumWeights sum, const float* weights, const float* factor_gradient, float* gradient,
                          bool accumulate) {
  BRIGHTNET_SHARED(float, of_input, [most_summed_inputs]);
  for (int input = 0; input < sum.inputs; ++input) {
    float mine = 0;
    for (int channel = static_cast<int>(threadIdx.x); channel < sum.channels; channel += factor_threads)
      mine += factor_gradient[input * sum.channels + channel];
    const float total = block_sum(mine);
    if (threadIdx.x == 0) of_input[input] = total;
  }
  if (threadIdx.x == 0)
    sum_weight_gradient(sum, weights, gradient, accumulate, GradientOfFactor{&of_input[0], 1});
}

size_t parameter_bytes(const SumWeights& sum) {
  return static_cast<size_t>(sum.inputs) * static_cast<size_t>(sum.row()) * sizeof(float);
}
size_t factor_bytes(const SumWeights& sum) {
  return static_cast<size_t>(sum.inputs) * static_cast<size_t>(sum.channels) * sizeof(float);
}

}  // namespace

void CudaBackend::sum_factors(const SumWeights& weights, const float* parameters, float* factors) {
  const Grid grid = blocks_for(static_cast<size_t>(weights.channels), factor_threads);
  launch(factors_kernel, grid.moving({parameter_bytes(weights), factor_bytes(weights)}), factor_threads, 0,
         stream(), weights, parameters, factors);
}

void CudaBackend::sum_factors_backward(const SumWeights& weights, const float* parameters,
                                       const float* factor_gradient, float* gradient, bool accumulate) {
  BRIGHTNET_CHECK(weights.inputs <= most_summed_inputs, "a weighted sum of too many inputs");
  const bool shared = is_shared(weights.weighting);
  const Grid grid = shared ? 1u : blocks_for(static_cast<size_t>(weights.channels), factor_threads);
  const size_t parameters_moved = parameter_bytes(weights);
  const Traffic traffic{factor_bytes(weights) + (accumulate ? 2 : 1) * parameters_moved, parameters_moved};
  launch(shared ? input_gradient_kernel : channel_gradient_kernel, grid.moving(traffic), factor_threads, 0,
         stream(), weights, parameters, factor_gradient, gradient, accumulate);
}

}  // namespace brightnet::cuda
