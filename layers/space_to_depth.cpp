// Space to depth.
#include "layers/layer.h"

namespace brightnet {
namespace {

/// Every block of pixels becomes one.
class SpaceToDepthLayer : public Layer {
 public:
  SpaceToDepthLayer(int block, const LayerSetup& setup) : Layer(setup), block_(block) {}
  void forward(const LayerCall& call) override {
    backend().space_to_depth(block_, call.inputs[0], call.output);
  }
  void backward(const LayerCall& call, bool) override {
    backend().space_to_depth_backward(block_, call.output_gradient, call.input_gradients[0],
                                      call.accumulate[0]);
  }

 private:
  const int block_;
};

}  // namespace

std::unique_ptr<Layer> SpaceToDepthAttributes::make_layer(const LayerSetup& setup) const {
  return std::make_unique<SpaceToDepthLayer>(block, setup);
}

}  // namespace brightnet
