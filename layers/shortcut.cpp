// Sum of two maps.
#include <algorithm>

#include "layers/layer.h"

namespace brightnet {
namespace {

/// activation(a + b), of the channels that both have.
class ShortcutLayer : public Layer {
 public:
  ShortcutLayer(const ShortcutAttributes& shortcut, const LayerSetup& setup)
      : Layer(setup), activation_(shortcut.activation), sum_{nullptr, output_shape(), setup.type} {}
  void memory(MemoryList& list) override;
  void forward(const LayerCall& call) override;
  void backward(const LayerCall& call, bool accumulate_parameters) override;

 private:
  Activation activation_;
  Tensor sum_;  ///< kept for the activation's derivative
};

void ShortcutLayer::memory(MemoryList& list) {
  if (setup().mode == Mode::train && activation_ != Activation::linear) list.saved(sum_);
}

void ShortcutLayer::forward(const LayerCall& call) {
  const Tensor sum = sum_ ? sum_ : call.output;
  const Tensor &a = call.inputs[0], &b = call.inputs[1];
  if (a.data == sum.data || b.data == sum.data) return;  // written by the batch-norm before it
  if (a.shape.c == b.shape.c) {
    backend().add(a, b, sum);
  } else {
    backend().copy_channels(a, 0, sum, 0, a.shape.c, false);
    backend().copy_channels(b, 0, sum, 0, std::min(a.shape.c, b.shape.c), true);
  }
  if (activation_ != Activation::linear) backend().activation_forward(activation_, sum, call.output);
}

void ShortcutLayer::backward(const LayerCall& call, bool) {
  const Tensor& dy = call.output_gradient;
  if (activation_ != Activation::linear) backend().activation_backward(activation_, sum_, dy);
  for (size_t i = 0; i < 2; ++i) {
    const Tensor& dx = call.input_gradients[i];
    if (!dx || dx.data == dy.data) continue;
    const int common = std::min(dx.shape.c, dy.shape.c);
    if (common < dx.shape.c && !call.accumulate[i]) backend().zero(dx.data, dx.bytes());
    backend().copy_channels(dy, 0, dx, 0, common, call.accumulate[i]);
  }
}

}  // namespace

std::unique_ptr<Layer> ShortcutAttributes::make_layer(const LayerSetup& setup) const {
  return std::make_unique<ShortcutLayer>(*this, setup);
}

}  // namespace brightnet
