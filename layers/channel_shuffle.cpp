// Channel shuffle.
#include "layers/layer.h"

namespace brightnet {
namespace {

/// Interleaves equal groups of channels, so that convolutions in groups after it read from all of those before it.
class ChannelShuffleLayer : public Layer {
 public:
  ChannelShuffleLayer(int groups, const LayerSetup& setup) : Layer(setup), groups_(groups) {}
  void forward(const LayerCall& call) override {
    backend().shuffle_channels(groups_, call.inputs[0], call.output, false);
  }
  void backward(const LayerCall& call, bool) override {
    backend().shuffle_channels(output_shape().c / groups_, call.output_gradient, call.input_gradients[0],
                               call.accumulate[0]);
  }

 private:
  const int groups_;
};

}  // namespace

std::unique_ptr<Layer> ChannelShuffleAttributes::make_layer(const LayerSetup& setup) const {
  return std::make_unique<ChannelShuffleLayer>(groups, setup);
}

}  // namespace brightnet
