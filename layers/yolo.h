// The YOLO head as the network's last layer of each branch (private to layers/). The formulas are in
// kernels/math, the loops in the backend.
#pragma once

#include "layers/layer.h"

namespace brightnet {

/// Its output is its input: the predictions as they are. Loss and decoding read them there.
class YoloLayer : public Layer {
 public:
  explicit YoloLayer(const LayerSetup& setup);
  Shape output_shape() const override { return setup().inputs[0]; }
  MemoryNeeds memory_needs() const override;
  void bind(const LayerMemory& memory) override;
  bool backward_reads_inputs() const override { return true; }
  void prepare() override;
  void forward(const LayerCall&) override {}
  /// Needs set_loss() before.
  void backward(const LayerCall& call, bool accumulate_parameters) override;

  /// What the next backward() computes: truths and totals in the device's memory, and the factor on the
  /// gradient.
  void set_loss(const TruthList& truths, const GradientScale& scale, LossTotals* totals) {
    truths_ = truths;
    scale_ = scale;
    totals_ = totals;
  }
  /// Sums of the last backward(), in the device's memory.
  const YoloLoss* loss() const { return loss_; }
  const YoloHead& head() const { return head_; }
  /// For detecting, after inference.
  void* workspace() const { return workspace_; }

 private:
  YoloHead head_;
  std::vector<float> class_weights_;
  TruthList truths_;
  GradientScale scale_;
  LossTotals* totals_ = nullptr;
  YoloLoss* loss_ = nullptr;
  float* device_class_weights_ = nullptr;
  bool class_weights_uploaded_ = false;
  void* workspace_ = nullptr;
};

}  // namespace brightnet
