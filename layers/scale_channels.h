// Channels times factors that another layer makes (private to layers/).
#pragma once

#include "layers/layer.h"

namespace brightnet {

/// y[n, h, w, c] = a[n, h, w, c] · b[n, 0, 0, c]: the last step of squeeze-and-excitation.
class ScaleChannelsLayer : public Layer {
 public:
  ScaleChannelsLayer(const ScaleChannelsAttributes&, const LayerSetup& setup);
  void memory(MemoryList& list) override;
  bool backward_reads_inputs() const override { return true; }
  void forward(const LayerCall& call) override;
  void backward(const LayerCall& call, bool accumulate_parameters) override;

 private:
  // Within one call, all of the factors' shape: the factors in fp32, their gradient in fp32, and this rounded
  // before it is added to another.
  Tensor factors_, gradient_, part_;
};

}  // namespace brightnet
