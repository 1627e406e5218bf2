// A group of channels.
#include "layers/layer.h"

namespace brightnet {
namespace {

/// One of several equal groups of channels.
class SplitLayer : public Layer {
 public:
  SplitLayer(int part, const LayerSetup& setup) : Layer(setup), first_channel_(part * output_shape().c) {}
  void forward(const LayerCall& call) override {
    backend().copy_channels(call.inputs[0], first_channel_, call.output, 0, output_shape().c, false);
  }
  void backward(const LayerCall& call, bool) override {
    const Tensor& dx = call.input_gradients[0];
    if (!call.accumulate[0]) backend().zero(dx.data, dx.bytes());
    backend().copy_channels(call.output_gradient, 0, dx, first_channel_, output_shape().c,
                            call.accumulate[0]);
  }

 private:
  const int first_channel_;
};

}  // namespace

std::unique_ptr<Layer> SplitAttributes::make_layer(const LayerSetup& setup) const {
  return std::make_unique<SplitLayer>(part, setup);
}

}  // namespace brightnet
