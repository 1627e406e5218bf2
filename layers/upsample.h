// Upsampling (private to layers/).
#pragma once

#include "layers/layer.h"

namespace brightnet {

/// Every pixel becomes factor × factor equal ones (nearest neighbour).
class UpsampleLayer : public Layer {
 public:
  UpsampleLayer(const UpsampleAttributes& upsample, const LayerSetup& setup)
      : Layer(setup), factor_(upsample.factor) {}
  void forward(const LayerCall& call) override;
  void backward(const LayerCall& call, bool accumulate_parameters) override;

 private:
  int factor_;
};

}  // namespace brightnet
