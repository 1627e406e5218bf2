// Product of two maps.
#include "layers/layer.h"

namespace brightnet {
namespace {

/// a · b, element by element.
class MultiplyLayer : public Layer {
 public:
  using Layer::Layer;
  bool backward_reads_inputs() const override { return true; }
  void forward(const LayerCall& call) override {
    backend().multiply(call.inputs[0], call.inputs[1], call.output, false);
  }
  void backward(const LayerCall& call, bool) override {
    for (size_t i = 0; i < 2; ++i) {
      const Tensor& dx = call.input_gradients[i];
      if (dx) backend().multiply(call.output_gradient, call.inputs[1 - i], dx, call.accumulate[i]);
    }
  }
};

}  // namespace

std::unique_ptr<Layer> MultiplyAttributes::make_layer(const LayerSetup& setup) const {
  return std::make_unique<MultiplyLayer>(setup);
}

}  // namespace brightnet
