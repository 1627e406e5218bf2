// Channels times factors that another layer makes.
#include "layers/layer.h"

namespace brightnet {
namespace {

/// y[n, h, w, c] = a[n, h, w, c] · b[n, 0, 0, c]: the last step of squeeze-and-excitation.
class ScaleChannelsLayer : public Layer {
 public:
  explicit ScaleChannelsLayer(const LayerSetup& setup);
  void memory(MemoryList& list) override;
  bool backward_reads_inputs() const override { return true; }
  void forward(const LayerCall& call) override;
  void backward(const LayerCall& call, bool accumulate_parameters) override;

 private:
  // Within one call, all of the factors' shape: the factors in fp32, their gradient in fp32, and this rounded
  // before it is added to another.
  Tensor factors_, gradient_, part_;
};

ScaleChannelsLayer::ScaleChannelsLayer(const LayerSetup& setup) : Layer(setup) {
  const Shape& factors = setup.inputs[1];
  factors_ = gradient_ = {nullptr, factors, DType::f32};
  part_ = {nullptr, factors, setup.type};
}

void ScaleChannelsLayer::memory(MemoryList& list) {
  list.workspace(factors_);
  if (setup().mode == Mode::infer) return;
  list.workspace(gradient_);
  list.workspace(part_);
}

void ScaleChannelsLayer::forward(const LayerCall& call) {
  backend().cast(call.inputs[1], factors_);
  backend().scale_channels(call.inputs[0], factors_, call.output, false);
}

void ScaleChannelsLayer::backward(const LayerCall& call, bool) {
  const Tensor &to_map = call.input_gradients[0], &to_factors = call.input_gradients[1];
  if (to_map) {
    backend().cast(call.inputs[1], factors_);
    backend().scale_channels(call.output_gradient, factors_, to_map, call.accumulate[0]);
  }
  if (!to_factors) return;
  backend().channel_products(call.output_gradient, call.inputs[0], gradient_);
  backend().cast(gradient_, call.accumulate[1] ? part_ : to_factors);
  if (call.accumulate[1]) backend().add(to_factors, part_, to_factors);
}

}  // namespace

std::unique_ptr<Layer> ScaleChannelsAttributes::make_layer(const LayerSetup& setup) const {
  return std::make_unique<ScaleChannelsLayer>(setup);
}

}  // namespace brightnet
