#include "detect/evaluate/verdicts.h"

#include <algorithm>
#include <tuple>

namespace brightnet {
namespace {

struct MatchCandidate {
  double iou;
  size_t detection, truth;
};

}  // namespace

ImageVerdicts judge(std::span<const ScoredBox> detections, std::span<const Annotation> truths,
                    const VerdictOptions& options) {
  ImageVerdicts verdicts{std::vector(detections.size(), Verdict::false_alarm),
                         std::vector(truths.size(), Verdict::missed),
                         std::vector<int>(detections.size(), -1)};
  for (size_t t = 0; t < truths.size(); ++t) {
    if (truths[t].crowd) verdicts.truths[t] = Verdict::not_counted;
  }
  std::vector<MatchCandidate> pairs;
  for (size_t d = 0; d < detections.size(); ++d) {
    Verdict& verdict = verdicts.detections[d];
    if (!(detections[d].score >= options.score)) {
      verdict = Verdict::not_counted;
      continue;
    }
    for (size_t t = 0; t < truths.size(); ++t) {
      const double iou = overlap(detections[d], truths[t], true);
      if (!(iou >= options.iou)) continue;
      if (truths[t].crowd) {
        verdict = Verdict::not_counted;
      } else {
        if (verdict == Verdict::false_alarm) verdict = Verdict::duplicate;  // unless it is matched below
        pairs.push_back({iou, d, t});
      }
    }
  }
  std::sort(pairs.begin(), pairs.end(), [](const MatchCandidate& a, const MatchCandidate& b) {
    return std::tie(b.iou, a.detection, a.truth) < std::tie(a.iou, b.detection, b.truth);
  });
  for (const MatchCandidate& pair : pairs) {
    if (verdicts.truth_of[pair.detection] >= 0 || verdicts.truths[pair.truth] != Verdict::missed) continue;
    const bool same = detections[pair.detection].class_id == truths[pair.truth].class_id;
    verdicts.truth_of[pair.detection] = static_cast<int>(pair.truth);
    verdicts.detections[pair.detection] = verdicts.truths[pair.truth] =
        same ? Verdict::correct : Verdict::wrong_class;
  }
  return verdicts;
}

double ImageVerdicts::badness(std::span<const ScoredBox> boxes) const {
  double sum = 0;
  for (const Verdict verdict : truths) sum += verdict == Verdict::missed || verdict == Verdict::wrong_class;
  for (size_t d = 0; d < detections.size(); ++d) {
    const bool extra = detections[d] == Verdict::false_alarm || detections[d] == Verdict::duplicate;
    if (extra) sum += boxes[d].score;
  }
  return sum;
}

}  // namespace brightnet
