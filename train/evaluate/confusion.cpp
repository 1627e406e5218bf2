#include "train/evaluate/confusion.h"

#include <algorithm>
#include <tuple>

namespace brightnet {

ConfusionMatrix::ConfusionMatrix(int class_count)
    : classes(class_count), counts(static_cast<size_t>(class_count + 1) * (class_count + 1)) {}

void ConfusionMatrix::add(std::span<const ScoredBox> detections, std::span<const Annotation> truths,
                          float least_score, float least_iou) {
  struct Pair {
    double iou;
    size_t detection, truth;
  };
  std::vector<Pair> pairs;
  std::vector<char> in_crowd(detections.size()), detection_done(detections.size()), truth_done(truths.size());
  for (size_t d = 0; d < detections.size(); ++d) {
    if (!(detections[d].score >= least_score)) {
      detection_done[d] = 1;
      continue;
    }
    for (size_t t = 0; t < truths.size(); ++t) {
      const double iou = overlap(detections[d], truths[t], true);
      if (!(iou >= least_iou)) continue;
      if (truths[t].crowd) {
        in_crowd[d] = 1;
      } else {
        pairs.push_back({iou, d, t});
      }
    }
  }
  std::sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) {
    return std::tie(b.iou, a.detection, a.truth) < std::tie(a.iou, b.detection, b.truth);
  });
  const auto count = [&](int predicted, int truth) {
    ++counts[static_cast<size_t>(predicted) * (classes + 1) + truth];
  };
  for (const Pair& pair : pairs) {
    if (detection_done[pair.detection] || truth_done[pair.truth]) continue;
    detection_done[pair.detection] = truth_done[pair.truth] = 1;
    count(detections[pair.detection].class_id, truths[pair.truth].class_id);
  }
  for (size_t d = 0; d < detections.size(); ++d) {
    if (!detection_done[d] && !in_crowd[d]) count(detections[d].class_id, classes);
  }
  for (size_t t = 0; t < truths.size(); ++t) {
    if (!truth_done[t] && !truths[t].crowd) count(classes, truths[t].class_id);
  }
}

}  // namespace brightnet
