// Precision rises only at true positives, so a curve is stored as the precisions at those: the k-th has
// recall k / truths. All metrics are computed from that list.
#include "detect/evaluate/average_precision.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace brightnet {
namespace {

/// Precision at each true positive, best score first, and the number of ground-truth objects.
struct Curve {
  std::vector<double> precision;
  int64_t truths = 0;

  /// Replaces each precision by the maximum at its recall or a higher one.
  void make_envelope() {
    for (size_t k = precision.size(); k-- > 1;) precision[k - 1] = std::max(precision[k - 1], precision[k]);
  }
  /// The envelope's precision at a recall of at least `recall`; 0 if that is not reached.
  double at_recall(double recall) const {
    auto k = static_cast<size_t>(std::max(0.0, std::floor(recall * truths) - 1));
    while (k < precision.size() && (k + 1) / static_cast<double>(truths) < recall) ++k;
    return k < precision.size() ? precision[k] : 0;
  }
  double recall() const { return precision.size() / static_cast<double>(truths); }
};

/// `classify` returns 1 for a true positive, -1 for a false positive and 0 for a detection not counted.
template <typename Classify>
Curve trace_curve(std::span<const MatchRecord> sorted, int64_t truths, Classify&& classify) {
  Curve curve;
  curve.truths = truths;
  int64_t counted = 0;
  for (const MatchRecord& record : sorted) {
    const int verdict = classify(record);
    counted += verdict != 0;
    if (verdict > 0) {
      curve.precision.push_back((curve.precision.size() + 1) / static_cast<double>(counted));
    }
  }
  curve.make_envelope();
  return curve;
}

/// 1: right, −1: wrong, 0: not counted; for trace_curve(). By default at IoU 0.5, for objects of all sizes.
int coco_verdict(const MatchRecord& record, uint64_t bit = coco_bit(area_all, 0),
                 int max_detections = coco_max_detections) {
  if (record.rank >= max_detections || (record.ignored & bit)) return 0;
  return (record.right & bit) ? 1 : -1;
}

int voc_verdict(const MatchRecord& record) {
  return record.voc == MatchRecord::not_counted ? 0 : record.voc == MatchRecord::right_object ? 1 : -1;
}

PrecisionCurve sample(const Curve& curve) {
  PrecisionCurve sampled;
  for (size_t i = 0; i < sampled.size(); ++i) sampled[i] = curve.at_recall(i * 0.01);
  return sampled;
}

double mean(const PrecisionCurve& curve) {
  double sum = 0;
  for (double precision : curve) sum += precision;
  return sum / curve.size();
}

/// Mean recall over the thresholds with at most `max_detections` per image.
double average_recall(std::span<const MatchRecord> records, int64_t truths, int max_detections) {
  int64_t right = 0;
  for (const MatchRecord& record : records) {
    for (int t = 0; t < coco_thresholds; ++t) {
      right += coco_verdict(record, coco_bit(area_all, t), max_detections) > 0;
    }
  }
  return right / static_cast<double>(truths * coco_thresholds);
}

void score_voc(std::span<const MatchRecord> sorted, int64_t truths, ClassScores& scores) {
  if (truths == 0) return;
  const Curve curve = trace_curve(sorted, truths, voc_verdict);
  scores.voc_AP50 = scores.voc_AP50_11point = 0;
  for (double precision : curve.precision) scores.voc_AP50 += precision / truths;
  for (int i = 0; i <= 10; ++i) scores.voc_AP50_11point += curve.at_recall(i / 10.0) / 11;
}

void score_area(std::span<const MatchRecord> sorted, int64_t truths, int area, ClassScores& scores) {
  scores.AP[area] = scores.AR[area] = no_truths;
  if (truths == 0) return;
  double precision = 0, recall = 0;
  for (int t = 0; t < coco_thresholds; ++t) {
    const uint64_t bit = coco_bit(area, t);
    const Curve curve =
        trace_curve(sorted, truths, [bit](const MatchRecord& record) { return coco_verdict(record, bit); });
    const PrecisionCurve sampled = sample(curve);
    precision += mean(sampled);
    recall += curve.recall();
    if (area != area_all) continue;
    if (t == 0) {
      scores.curve = sampled;
      scores.AP50 = mean(sampled);
    }
    if (t == 5) scores.AP75 = mean(sampled);
  }
  scores.AP[area] = precision / coco_thresholds;
  scores.AR[area] = recall / coco_thresholds;
}

}  // namespace

ClassScores score_class(std::span<const MatchRecord> sorted, const TruthCounts& truths) {
  ClassScores scores;
  for (int a = 0; a < coco_areas; ++a) score_area(sorted, truths.coco[a], a, scores);
  if (truths.coco[area_all] > 0) {
    scores.AR1 = average_recall(sorted, truths.coco[area_all], 1);
    scores.AR10 = average_recall(sorted, truths.coco[area_all], 10);
  }
  score_voc(sorted, truths.voc, scores);
  return scores;
}

OperatingPoint best_f1(std::span<const MatchRecord> sorted, int64_t truths) {
  OperatingPoint best;
  int64_t right = 0, counted = 0;
  for (size_t i = 0; i < sorted.size(); ++i) {
    const int verdict = coco_verdict(sorted[i]);
    right += verdict > 0;
    counted += verdict != 0;
    // A threshold cannot separate equal scores, so only the last of them is a candidate.
    if (right == 0 || (i + 1 < sorted.size() && sorted[i + 1].score == sorted[i].score)) continue;
    const double f1 = 2 * static_cast<double>(right) / (counted + truths);
    if (f1 <= best.f1) continue;
    best = {right / static_cast<double>(counted), right / static_cast<double>(truths), f1, sorted[i].score};
  }
  return best;
}

double ScoreCurves::f1(int point) const {
  const double p = precision[point], r = recall[point];
  return p + r > 0 ? 2 * p * r / (p + r) : 0;
}

ScoreCurves over_scores(std::span<const MatchRecord> sorted, int64_t truths) {
  ScoreCurves curves;
  if (truths == 0) return curves;
  int64_t right = 0, counted = 0;
  size_t next = 0;
  for (int point = ScoreCurves::points; point-- > 0;) {
    const auto least = static_cast<float>(ScoreCurves::score(point));
    for (; next < sorted.size() && sorted[next].score >= least; ++next) {
      const int verdict = coco_verdict(sorted[next]);
      right += verdict > 0;
      counted += verdict != 0;
    }
    curves.precision[point] = counted > 0 ? right / static_cast<float>(counted) : 0;
    curves.recall[point] = right / static_cast<float>(truths);
  }
  return curves;
}

float threshold_of(float score) {
  const double below = std::floor(score * 1000.0);
  const auto next = static_cast<float>((below + 1) / 1000);  // 0.35f is a little less than 0.35
  return next <= score ? next : static_cast<float>(below / 1000);
}

OperatingPoint best_mean_f1(std::span<const SortedClass> classes) {
  struct Detected {
    float score;
    size_t of_class;
    bool right;
  };
  struct Counts {
    double right = 0, counted = 0, truths = 0;
    double f1() const { return right > 0 ? 2 * right / (counted + truths) : 0; }
  };
  std::vector<Detected> all;
  std::vector<Counts> counts;
  for (const SortedClass& one : classes) {
    if (one.truths == 0) continue;
    for (const MatchRecord& record : one.records) {
      const int verdict = coco_verdict(record);
      if (verdict != 0) all.push_back({record.score, counts.size(), verdict > 0});
    }
    counts.push_back({.truths = static_cast<double>(one.truths)});
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.score > b.score; });

  OperatingPoint best;
  const auto number = static_cast<double>(counts.size());
  double sum = 0;  // sum of the classes' F1
  for (size_t i = 0; i < all.size(); ++i) {
    Counts& own = counts[all[i].of_class];
    sum -= own.f1();
    own.right += all[i].right;
    ++own.counted;
    sum += own.f1();
    const float threshold = threshold_of(all[i].score);
    const bool separable = i + 1 == all.size() || threshold_of(all[i + 1].score) != threshold;
    if (!separable || sum / number <= best.f1) continue;
    best = {0, 0, sum / number, threshold};
    for (const Counts& c : counts) {
      best.precision += c.counted > 0 ? c.right / c.counted / number : 0;
      best.recall += c.right / c.truths / number;
    }
  }
  return best;
}

}  // namespace brightnet
