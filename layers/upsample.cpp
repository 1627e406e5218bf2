#include "layers/upsample.h"

namespace brightnet {

void UpsampleLayer::forward(const LayerCall& call) {
  backend().upsample_forward(factor_, call.inputs[0], call.output);
}

void UpsampleLayer::backward(const LayerCall& call, bool) {
  backend().upsample_backward(factor_, call.output_gradient, call.input_gradients[0], call.accumulate[0]);
}

}  // namespace brightnet
