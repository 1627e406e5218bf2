// Spatial pyramid pooling.
#include "layers/layer.h"

namespace brightnet {
namespace {

/// Spatial pyramid pooling (He et al. 2014, as YOLOv3-SPP and YOLOv4 use it): concat of the stride-1
/// max-pools, the largest window first, and the input last. [n, h, w, c] → [n, h, w, (windows + 1)·c].
class SpatialPyramidLayer : public Layer {
 public:
  SpatialPyramidLayer(const SppAttributes& spp, const LayerSetup& setup);
  void memory(MemoryList& list) override;
  void forward(const LayerCall& call) override;
  void backward(const LayerCall& call, bool accumulate_parameters) override;

 private:
  std::vector<int> windows_;    ///< descending
  std::vector<Tensor> argmax_;  ///< one a window
  void* workspace_ = nullptr;
};

SpatialPyramidLayer::SpatialPyramidLayer(const SppAttributes& spp, const LayerSetup& setup)
    : Layer(setup), windows_(spp.largest_first()) {}

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

}  // namespace

std::unique_ptr<Layer> SppAttributes::make_layer(const LayerSetup& setup) const {
  return std::make_unique<SpatialPyramidLayer>(*this, setup);
}

}  // namespace brightnet
