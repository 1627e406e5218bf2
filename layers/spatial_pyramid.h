// Spatial pyramid pooling (private to layers/).
#pragma once

#include "layers/layer.h"

namespace brightnet {

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

}  // namespace brightnet
