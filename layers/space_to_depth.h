// Space to depth (private to layers/).
#pragma once

#include "layers/layer.h"

namespace brightnet {

/// Every block of pixels becomes one.
class SpaceToDepthLayer : public Layer {
 public:
  SpaceToDepthLayer(const SpaceToDepthAttributes& fold, const LayerSetup& setup)
      : Layer(setup), block_(fold.block) {}
  void forward(const LayerCall& call) override;
  void backward(const LayerCall& call, bool accumulate_parameters) override;

 private:
  int block_;
};

}  // namespace brightnet
