#include "detect/evaluate/confusion.h"

namespace brightnet {

ConfusionMatrix::ConfusionMatrix(int class_count, VerdictOptions limits)
    : classes(class_count),
      counts(static_cast<size_t>(class_count + 1) * (class_count + 1)),
      thresholds(limits) {}

void ConfusionMatrix::add(std::span<const ScoredBox> detections, std::span<const Annotation> truths) {
  const ImageVerdicts verdicts = judge(detections, truths, thresholds);
  const auto count = [&](int predicted, int truth) {
    ++counts[static_cast<size_t>(predicted) * (classes + 1) + truth];
  };
  for (size_t d = 0; d < detections.size(); ++d) {
    if (verdicts.detections[d] == Verdict::not_counted) continue;
    const int truth = verdicts.truth_of[d];
    count(detections[d].class_id, truth < 0 ? classes : truths[truth].class_id);
  }
  for (size_t t = 0; t < truths.size(); ++t) {
    if (verdicts.truths[t] == Verdict::missed) count(classes, truths[t].class_id);
  }
}

}  // namespace brightnet
