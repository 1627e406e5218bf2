// The confusion matrix of the classes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "detect/evaluate/verdicts.h"

namespace brightnet {

/// Counts by predicted and true class. The last index, `classes`, is the background: an undetected
/// ground-truth box, or a detection without one.
struct ConfusionMatrix {
  int classes = 0;
  std::vector<int64_t> counts;  ///< (classes + 1)², row-major: [predicted][true]

  VerdictOptions thresholds;

  explicit ConfusionMatrix(int class_count = 0, VerdictOptions limits = {});
  int64_t at(int predicted, int truth) const {
    return counts[static_cast<size_t>(predicted) * (classes + 1) + truth];
  }

  /// Counts one image, as judge() (verdicts.h) sees it.
  void add(std::span<const ScoredBox> detections, std::span<const Annotation> truths);
};

}  // namespace brightnet
