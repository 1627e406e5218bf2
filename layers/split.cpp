#include "layers/split.h"

namespace brightnet {

SplitLayer::SplitLayer(const SplitAttributes& split, const LayerSetup& setup)
    : Layer(setup), first_channel_(split.part * output_shape().c) {}

void SplitLayer::forward(const LayerCall& call) {
  backend().copy_channels(call.inputs[0], first_channel_, call.output, 0, output_shape().c, false);
}

void SplitLayer::backward(const LayerCall& call, bool) {
  const Tensor& dx = call.input_gradients[0];
  if (!call.accumulate[0]) backend().zero(dx.data, dx.bytes());
  backend().copy_channels(call.output_gradient, 0, dx, first_channel_, output_shape().c, call.accumulate[0]);
}

}  // namespace brightnet
