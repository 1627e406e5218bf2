// The loss of a YOLO head over a batch: what the operation is given and what it leaves. docs/loss.md has the formulas.
#pragma once

#include "core/box.h"
#include "core/tensor.h"
#include "kernels/math/loss_totals.h"
#include "kernels/math/yolo_head.h"

namespace brightnet {

/// Truths of a batch in the device's memory: image i owns truths [offsets[i], offsets[i + 1]).
struct TruthList {
  const Truth* truths = nullptr;
  const int* offsets = nullptr;  ///< [batch + 1]
};

/// What a loss is multiplied by before it is differentiated: a constant, and a number in the device's memory
/// that may change from step to step (nullptr: 1).
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
  /// Device memory: the loss's sums, overwritten.
  YoloLoss* loss = nullptr;
  /// Device memory: the same are added here; nullptr: nowhere.
  LossTotals* totals = nullptr;
  void* workspace = nullptr;
};

}  // namespace brightnet
