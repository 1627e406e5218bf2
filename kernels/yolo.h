// Arguments of the YOLO loss over a batch. docs/loss.md has the formulas.
#pragma once

#include "core/box.h"
#include "core/tensor.h"
#include "kernels/math/loss_totals.h"
#include "kernels/math/yolo_head.h"

namespace brightnet {

/// Ground truth of a batch in device memory: image i has truths [offsets[i], offsets[i + 1]).
struct TruthList {
  const Truth* truths = nullptr;
  const int* offsets = nullptr;  ///< [batch + 1]
};

/// Factor on the loss before it is differentiated: a constant times a number in device memory that may change
/// from step to step (nullptr: 1).
struct GradientScale {
  float constant = 1;
  const float* dynamic = nullptr;
};

/// gradient = d(loss · scale)/d(predictions). Both are of the same compute type and do not overlap; the
/// arithmetic is fp32.
struct YoloLossPass {
  Tensor predictions, gradient;
  TruthList truths;
  GradientScale scale;
  /// Receives the batch's sums; device memory.
  YoloLoss* loss = nullptr;
  /// The batch's sums are added to this; device memory or nullptr.
  LossTotals* totals = nullptr;
  void* workspace = nullptr;
};

}  // namespace brightnet
