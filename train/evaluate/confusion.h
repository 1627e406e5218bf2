// Who was taken for whom.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "train/evaluate/matching.h"

namespace brightnet {

/// Counts by predicted and true class. Index `classes` (the last one) is the background: an undetected ground-truth
/// box, or a detection without one.
struct ConfusionMatrix {
  int classes = 0;
  std::vector<int64_t> counts;  ///< (classes + 1)², row-major: [predicted][true]

  explicit ConfusionMatrix(int class_count = 0);
  int64_t at(int predicted, int truth) const {
    return counts[static_cast<size_t>(predicted) * (classes + 1) + truth];
  }

  /// Counts one image: detections from `least_score` on are matched with truths, one to one and blind to
  /// the class, best IoU first down to `least_iou`. Crowds, and unmatched detections that overlap one, are
  /// left out.
  void add(std::span<const ScoredBox> detections, std::span<const Annotation> truths, float least_score,
           float least_iou);
};

}  // namespace brightnet
