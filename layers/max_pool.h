// Max-pooling (private to layers/).
#pragma once

#include "layers/layer.h"

namespace brightnet {

/// The maximum of each window. Training keeps its position in the window.
class MaxPoolLayer : public Layer {
 public:
  MaxPoolLayer(const MaxPoolAttributes& pool, const LayerSetup& setup);
  void memory(MemoryList& list) override;
  void forward(const LayerCall& call) override;
  void backward(const LayerCall& call, bool accumulate_parameters) override;

 private:
  PoolSpec pool_;
  Tensor argmax_;
};

}  // namespace brightnet
