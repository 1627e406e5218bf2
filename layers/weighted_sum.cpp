// Sum of maps with learned weights.
#include "layers/layer.h"

namespace brightnet {
namespace {

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

WeightedSumLayer::WeightedSumLayer(const WeightedSumAttributes& sum, const LayerSetup& setup)
    : Layer(setup),
      activation_(sum.activation),
      trains_(setup.mode == Mode::train && setup.description.rate > 0),
      weights_{static_cast<int>(setup.inputs.size()), setup.inputs[0].c, sum.weights, sum.normalization},
      weight_(parameter("weight")),
      sum_{nullptr, output_shape(), setup.type} {}

Tensor WeightedSumLayer::row(float* rows, size_t input) const {
  return {rows + input * weights_.channels, {1, 1, 1, weights_.channels}, DType::f32};
}

void WeightedSumLayer::memory(MemoryList& list) {
  const size_t factors = weights_.inputs * static_cast<size_t>(weights_.channels);
  list.weights(factors_, factors * sizeof(float));
  if (setup().mode == Mode::train && activation_ != Activation::linear) list.saved(sum_);
  if (trains_) list.workspace(factor_gradient_, factors * sizeof(float));
}

void WeightedSumLayer::prepare() {
  backend().sum_factors(weights_, value(weight_), factors_);
}

void WeightedSumLayer::forward(const LayerCall& call) {
  const Tensor sum = sum_ ? sum_ : call.output;
  for (size_t i = 0; i < call.inputs.size(); ++i)
    backend().scale_channels(call.inputs[i], row(factors_, i), sum, i > 0);
  if (activation_ != Activation::linear) backend().activation_forward(activation_, sum, call.output);
}

void WeightedSumLayer::backward(const LayerCall& call, bool accumulate_parameters) {
  const Tensor& dy = call.output_gradient;
  if (activation_ != Activation::linear) backend().activation_backward(activation_, sum_, dy);
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const Tensor& dx = call.input_gradients[i];
    if (trains_) backend().channel_products(dy, call.inputs[i], row(factor_gradient_, i));
    if (dx) backend().scale_channels(dy, row(factors_, i), dx, call.accumulate[i]);
  }
  if (trains_) {
    backend().sum_factors_backward(weights_, value(weight_), factor_gradient_, gradient(weight_),
                                   accumulate_parameters);
  }
}

}  // namespace

std::unique_ptr<Layer> WeightedSumAttributes::make_layer(const LayerSetup& setup) const {
  return std::make_unique<WeightedSumLayer>(*this, setup);
}

}  // namespace brightnet
