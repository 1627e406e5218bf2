// A layer that computes in fp32 within a network of 16-bit activations: `precision: fp32` in the model's YAML
// (private to layers/).
#pragma once

#include <memory>

#include "layers/layer.h"

namespace brightnet {

/// Wraps a layer of one input: in both passes its inputs are converted to fp32 and its results rounded back.
/// Its arithmetic, its working weights and what it keeps for the backward pass are all fp32. Costs their
/// memory and four casts.
class FullPrecisionLayer : public Layer {
 public:
  /// `inner` was made from inner_setup(setup).
  FullPrecisionLayer(const LayerSetup& setup, std::unique_ptr<Layer> inner);
  static LayerSetup inner_setup(const LayerSetup& setup);

  MemoryNeeds memory_needs() const override;
  void bind(const LayerMemory& memory) override;
  bool backward_reads_inputs() const override { return inner_->backward_reads_inputs(); }
  double flops() const override { return inner_->flops(); }
  const ConvolutionSpec* convolution() const override { return inner_->convolution(); }
  size_t convolution_workspace(size_t) const override {
    return inner_->convolution_workspace(inner_->memory_needs().workspace);
  }
  std::string implementation() const override { return inner_->implementation(); }

  CastPair weight_cast() const override { return inner_->weight_cast(); }
  void prepare() override { inner_->prepare(); }
  void forward(const LayerCall& call) override;
  void backward(const LayerCall& call, bool accumulate_parameters) override;

 private:
  Shape input_shape() const { return setup().inputs[0]; }

  std::unique_ptr<Layer> inner_;
  Tensor input_, output_, input_gradient_;  ///< in fp32; output_ holds the output's gradient as well
  Tensor part_;  ///< the rounded gradient, before it is added to that of another consumer
};

}  // namespace brightnet
