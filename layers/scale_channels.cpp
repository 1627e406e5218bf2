#include "layers/scale_channels.h"

#include "core/alignment.h"

namespace brightnet {

ScaleChannelsLayer::ScaleChannelsLayer(const ScaleChannelsAttributes&, const LayerSetup& setup)
    : Layer(setup) {
  const Shape& factors = setup.inputs[1];
  factors_ = gradient_ = {nullptr, factors, DType::f32};
  part_ = {nullptr, factors, setup.type};
}

MemoryNeeds ScaleChannelsLayer::memory_needs() const {
  const size_t backward =
      setup().mode == Mode::train ? aligned(gradient_.bytes()) + aligned(part_.bytes()) : 0;
  return {.workspace = aligned(factors_.bytes()) + backward};
}

void ScaleChannelsLayer::bind(const LayerMemory& memory) {
  auto* at = static_cast<std::byte*>(memory.workspace);
  for (Tensor* tensor : {&factors_, &gradient_, &part_}) {
    tensor->data = at;
    at += aligned(tensor->bytes());
  }
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

}  // namespace brightnet
