#include "layers/spatial_pyramid.h"

#include <algorithm>

namespace brightnet {

SpatialPyramidLayer::SpatialPyramidLayer(const SppAttributes& spp, const LayerSetup& setup)
    : Layer(setup), windows_(spp.windows) {
  std::sort(windows_.rbegin(), windows_.rend());
}

MemoryNeeds SpatialPyramidLayer::memory_needs() const {
  const Shape& in = setup().inputs[0];
  return {.saved = setup().mode == Mode::train ? in.count() * windows_.size() : 0,
          .workspace = backend().spatial_pyramid_workspace(in, setup().type)};
}

void SpatialPyramidLayer::bind(const LayerMemory& memory) {
  const Shape& in = setup().inputs[0];
  argmax_.clear();
  for (size_t i = 0; i < windows_.size(); ++i) {
    auto* place = static_cast<std::byte*>(memory.saved);
    argmax_.push_back({place ? place + i * in.count() : nullptr, in, DType::u8});
  }
  workspace_ = memory.workspace;
}

void SpatialPyramidLayer::forward(const LayerCall& call) {
  backend().spatial_pyramid_forward(windows_, call.inputs[0], call.output, argmax_, workspace_);
}

void SpatialPyramidLayer::backward(const LayerCall& call, bool) {
  backend().spatial_pyramid_backward(windows_, call.output_gradient, argmax_, call.input_gradients[0],
                                     call.accumulate[0], workspace_);
}

}  // namespace brightnet
