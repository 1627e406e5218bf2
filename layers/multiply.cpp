#include "layers/multiply.h"

namespace brightnet {

void MultiplyLayer::forward(const LayerCall& call) {
  backend().multiply(call.inputs[0], call.inputs[1], call.output, false);
}

void MultiplyLayer::backward(const LayerCall& call, bool) {
  for (size_t i = 0; i < 2; ++i) {
    const Tensor& dx = call.input_gradients[i];
    if (dx) backend().multiply(call.output_gradient, call.inputs[1 - i], dx, call.accumulate[i]);
  }
}

}  // namespace brightnet
