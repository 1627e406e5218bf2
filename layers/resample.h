// Layers that only move pixels: max-pool, spatial pyramid pooling, upsample, space to depth (private to
// layers/).
#pragma once

#include "layers/layer.h"

namespace brightnet {

/// Max-pool with darknet's padding: size − 1 in total, so that stride 1 keeps the size and stride 2 halves
/// it.
class MaxPoolLayer : public Layer {
 public:
  explicit MaxPoolLayer(const LayerSetup& setup);
  Shape output_shape() const override { return output_; }
  MemoryNeeds memory_needs() const override;
  void bind(const LayerMemory& memory) override;
  void forward(const LayerCall& call) override;
  void backward(const LayerCall& call, bool accumulate_parameters) override;

 private:
  PoolSpec pool_;
  Shape output_;
  Tensor argmax_;
};

/// Spatial pyramid pooling (He et al. 2014, as YOLOv3-SPP and YOLOv4 use it): concat of the stride-1
/// max-pools, the largest window first, and the input last. [n, h, w, c] → [n, h, w, (windows + 1)·c].
class SppLayer : public Layer {
 public:
  explicit SppLayer(const LayerSetup& setup);
  Shape output_shape() const override { return output_; }
  MemoryNeeds memory_needs() const override;
  void bind(const LayerMemory& memory) override;
  void forward(const LayerCall& call) override;
  void backward(const LayerCall& call, bool accumulate_parameters) override;

 private:
  std::vector<int> windows_;  ///< descending
  Shape output_;
  std::vector<Tensor> argmax_;  ///< one a window
  void* workspace_ = nullptr;
};

/// Nearest neighbour.
class UpsampleLayer : public Layer {
 public:
  explicit UpsampleLayer(const LayerSetup& setup);
  Shape output_shape() const override { return output_; }
  void forward(const LayerCall& call) override;
  void backward(const LayerCall& call, bool accumulate_parameters) override;

 private:
  int factor_;
  Shape output_;
};

/// Every block of pixels becomes one. Throws InputError when the input's sides are no multiples of the block.
class SpaceToDepthLayer : public Layer {
 public:
  explicit SpaceToDepthLayer(const LayerSetup& setup);
  Shape output_shape() const override { return output_; }
  void forward(const LayerCall& call) override;
  void backward(const LayerCall& call, bool accumulate_parameters) override;

 private:
  int block_;
  Shape output_;
};

}  // namespace brightnet
