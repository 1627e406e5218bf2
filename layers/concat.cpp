// Concatenation of channels.
#include "layers/layer.h"

namespace brightnet {
namespace {

/// Whether `part` is the slice of `whole` that starts at this channel.
bool lies_in(const Tensor& part, const Tensor& whole, int channel) {
  return part.stride > 0 && part.data == slice_channels(whole, channel, part.shape.c).data;
}

/// The channels of its inputs, in the order of `from`. Inputs that are slices of the output already
/// (layers/graph.h) cost nothing, and neither do their gradients.
class ConcatLayer : public Layer {
 public:
  using Layer::Layer;
  void forward(const LayerCall& call) override;
  void backward(const LayerCall& call, bool accumulate_parameters) override;
};

void ConcatLayer::forward(const LayerCall& call) {
  int at = 0;
  for (const Tensor& input : call.inputs) {
    if (!lies_in(input, call.output, at))
      backend().copy_channels(input, 0, call.output, at, input.shape.c, false);
    at += input.shape.c;
  }
}

void ConcatLayer::backward(const LayerCall& call, bool) {
  int at = 0;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const int channels = call.inputs[i].shape.c;
    const Tensor& dx = call.input_gradients[i];
    if (dx && !lies_in(dx, call.output_gradient, at))
      backend().copy_channels(call.output_gradient, at, dx, 0, channels, call.accumulate[i]);
    at += channels;
  }
}

}  // namespace

std::unique_ptr<Layer> ConcatAttributes::make_layer(const LayerSetup& setup) const {
  return std::make_unique<ConcatLayer>(setup);
}

}  // namespace brightnet
