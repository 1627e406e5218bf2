// Sum of maps with learned weights (private to layers/).
#pragma once

#include "layers/layer.h"

namespace brightnet {

/// activation(Σ f_i · x_i), with the factors f_i made from the parameters (kernels/weighted_sum.h). In half
/// precision the sum is rounded after each of its terms.
class WeightedSumLayer : public Layer {
 public:
  WeightedSumLayer(const WeightedSumAttributes& sum, const LayerSetup& setup);
  void memory(MemoryList& list) override;
  bool backward_reads_inputs() const override { return trains_; }
  void prepare() override;
  void forward(const LayerCall& call) override;
  void backward(const LayerCall& call, bool accumulate_parameters) override;

 private:
  /// The row of `rows`, [inputs][channels], of an input.
  Tensor row(float* rows, size_t input) const;

  const Activation activation_;
  const bool trains_;
  const SumWeights weights_;
  const ParameterEntry* weight_ = nullptr;
  float *factors_ = nullptr, *factor_gradient_ = nullptr;
  Tensor sum_;  ///< kept for the activation's derivative
};

}  // namespace brightnet
