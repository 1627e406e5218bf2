#include "layers/space_to_depth.h"

namespace brightnet {

void SpaceToDepthLayer::forward(const LayerCall& call) {
  backend().space_to_depth(block_, call.inputs[0], call.output);
}

void SpaceToDepthLayer::backward(const LayerCall& call, bool) {
  backend().space_to_depth_backward(block_, call.output_gradient, call.input_gradients[0],
                                    call.accumulate[0]);
}

}  // namespace brightnet
