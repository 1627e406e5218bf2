#include "layers/average_pool.h"

namespace brightnet {

void AveragePoolLayer::forward(const LayerCall& call) {
  backend().average_pool_forward(pool_, call.inputs[0], call.output);
}

void AveragePoolLayer::backward(const LayerCall& call, bool) {
  backend().average_pool_backward(pool_, call.output_gradient, call.input_gradients[0], call.accumulate[0]);
}

}  // namespace brightnet
