// A group of channels (private to layers/).
#pragma once

#include "layers/layer.h"

namespace brightnet {

/// One of several equal groups of channels.
class SplitLayer : public Layer {
 public:
  SplitLayer(const SplitAttributes& split, const LayerSetup& setup);
  void forward(const LayerCall& call) override;
  void backward(const LayerCall& call, bool accumulate_parameters) override;

 private:
  int first_channel_;
};

}  // namespace brightnet
