// Upsampling.
#include "layers/layer.h"

namespace brightnet {
namespace {

/// Every pixel becomes factor × factor equal ones (nearest neighbour).
class UpsampleLayer : public Layer {
 public:
  UpsampleLayer(int factor, const LayerSetup& setup) : Layer(setup), factor_(factor) {}
  void forward(const LayerCall& call) override {
    backend().upsample_forward(factor_, call.inputs[0], call.output);
  }
  void backward(const LayerCall& call, bool) override {
    backend().upsample_backward(factor_, call.output_gradient, call.input_gradients[0], call.accumulate[0]);
  }

 private:
  const int factor_;
};

}  // namespace

std::unique_ptr<Layer> UpsampleAttributes::make_layer(const LayerSetup& setup) const {
  return std::make_unique<UpsampleLayer>(factor, setup);
}

}  // namespace brightnet
