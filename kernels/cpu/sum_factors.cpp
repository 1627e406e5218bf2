// A few hundred numbers, once a step: no threads.
#include "kernels/sum_factors.h"

#include "kernels/cpu/cpu_backend.h"

namespace brightnet::cpu {

void CpuBackend::sum_factors(const SumWeights& weights, const float* parameters, float* factors) {
  const bool shared = is_shared(weights.weighting);
  for (int c = 0; c < weights.channels; ++c)
    sum_factors_of(weights, parameters + (shared ? 0 : c), factors + c);
}

void CpuBackend::sum_factors_backward(const SumWeights& weights, const float* parameters,
                                      const float* factor_gradient, float* gradient, bool accumulate) {
  if (!is_shared(weights.weighting)) {
    for (int c = 0; c < weights.channels; ++c) {
      sum_weight_gradient(weights, parameters + c, gradient + c, accumulate,
                          [&](int i) { return factor_gradient[i * weights.channels + c]; });
    }
    return;
  }
  sum_weight_gradient(weights, parameters, gradient, accumulate, [&](int i) {
    double sum = 0;
    for (int c = 0; c < weights.channels; ++c) sum += factor_gradient[i * weights.channels + c];
    return static_cast<float>(sum);
  });
}

}  // namespace brightnet::cpu
