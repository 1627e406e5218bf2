// The YOLO head, the last layer of each branch (private to layers/). The formulas are in kernels/math, the
// loops in the backend.
#pragma once

#include "layers/layer.h"

namespace brightnet {

/// A YOLO head: its output is its input, the raw predictions, and forward() does nothing. loss() replaces
/// backward() in training, and detect() follows inference.
class YoloLayer : public Layer {
 public:
  YoloLayer(const YoloAttributes& yolo, const LayerSetup& setup);
  void memory(MemoryList& list) override;
  void bound() override { class_weights_uploaded_ = false; }
  void prepare() override;
  void forward(const LayerCall&) override {}
  /// Never called: the network calls loss() instead.
  void backward(const LayerCall& call, bool accumulate_parameters) override;

  /// The loss of the predictions call.inputs[0] against the ground truth, and its gradient times `scale` into
  /// call.input_gradients[0]. The loss's sums are kept for last_loss() and added to `totals` (unless
  /// nullptr). Truths and totals are in the device's memory. `static_assignment`: simota takes all its candidates.
  void loss(const LayerCall& call, const TruthList& truths, const GradientScale& scale, LossTotals* totals,
            bool static_assignment);
  /// Returns in inference, where it was planned for, the loss of each of the first `images` images. Synchronizes.
  std::vector<YoloLoss> loss_of_inference(const Tensor& predictions, int images, const TruthList& truths,
                                          bool static_assignment);
  /// The sums of the last loss(). Synchronizes.
  YoloLoss last_loss() const;
  /// Appends the detections above `threshold`, before NMS, to each image's list. Synchronizes.
  void detect(const Tensor& predictions, float threshold, std::vector<std::vector<Detection>>& found) const;

 private:
  bool computes_loss() const { return setup().mode == Mode::train || setup().loss_of_inference; }
  size_t loss_workspace() const;
  size_t image_bytes() const;  ///< bytes of an image's predictions
  YoloHead loss_head(bool static_assignment) const;

  YoloHead head_;
  std::vector<float> class_weights_;
  YoloLoss* loss_ = nullptr;  ///< loss of the batch, in inference of each image; in the device's memory
  float* device_class_weights_ = nullptr;
  bool class_weights_uploaded_ = false;
  void* workspace_ = nullptr;
};

}  // namespace brightnet
