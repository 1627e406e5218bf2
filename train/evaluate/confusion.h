// The confusion matrix of the classes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "train/evaluate/matching.h"

namespace brightnet {

/// Counts by predicted and true class. The last index, `classes`, is the background: an undetected
/// ground-truth box, or a detection without one.
struct ConfusionMatrix {
  int classes = 0;
  std::vector<int64_t> counts;  ///< (classes + 1)², row-major: [predicted][true]

  explicit ConfusionMatrix(int class_count = 0);
  int64_t at(int predicted, int truth) const {
    return counts[static_cast<size_t>(predicted) * (classes + 1) + truth];
  }

  /// Counts one image: detections with at least `least_score` are matched with ground truth one to one,
  /// regardless of class, highest IoU first down to `least_iou`. Crowds, and unmatched detections that
  /// overlap one, are not counted.
  void add(std::span<const ScoredBox> detections, std::span<const Annotation> truths, float least_score,
           float least_iou);
};

}  // namespace brightnet
