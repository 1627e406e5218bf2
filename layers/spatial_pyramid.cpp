#include "layers/spatial_pyramid.h"

#include <algorithm>

namespace brightnet {

SpatialPyramidLayer::SpatialPyramidLayer(const SppAttributes& spp, const LayerSetup& setup)
    : Layer(setup), windows_(spp.windows) {
  std::sort(windows_.rbegin(), windows_.rend());
}

void SpatialPyramidLayer::memory(MemoryList& list) {
  const Shape& in = setup().inputs[0];
  argmax_.assign(windows_.size(), {nullptr, in, DType::u8});
  if (setup().mode == Mode::train) {
    for (Tensor& argmax : argmax_) list.saved(argmax);
  }
  list.workspace(workspace_, backend().spatial_pyramid_workspace(in, setup().type));
}

void SpatialPyramidLayer::forward(const LayerCall& call) {
  backend().spatial_pyramid_forward(windows_, call.inputs[0], call.output, argmax_, workspace_);
}

void SpatialPyramidLayer::backward(const LayerCall& call, bool) {
  backend().spatial_pyramid_backward(windows_, call.output_gradient, argmax_, call.input_gradients[0],
                                     call.accumulate[0], workspace_);
}

}  // namespace brightnet
