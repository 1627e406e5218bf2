// Average precision and recall of one class, computed from its match records.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "detect/evaluate/matching.h"

namespace brightnet {

/// The value of a metric that is undefined for lack of ground truth (as in pycocotools).
inline constexpr double no_truths = -1;

/// A curve over the 101 recall levels 0, 0.01, …, 1: the best precision at that recall or a higher one.
using PrecisionCurve = std::array<double, 101>;

/// The metrics of one class (Metrics); no_truths without ground truth.
struct ClassScores {
  std::array<double, coco_areas> AP, AR;  ///< means over the IoU thresholds, by object size
  double AP50 = no_truths, AP75 = no_truths;
  double AR1 = no_truths, AR10 = no_truths;
  PrecisionCurve curve{};  ///< precision over recall at IoU 0.5
  double voc_AP50 = no_truths, voc_AP50_11point = no_truths;
};

/// `sorted`: the class's records by descending score, ties by image and rank.
ClassScores score_class(std::span<const MatchRecord> sorted, const TruthCounts& truths);

/// A point of the precision-recall curve at IoU 0.5 and the score threshold that reaches it.
struct OperatingPoint {
  double precision = 0, recall = 0, f1 = 0, score = 0;
};

/// The point with the highest F1 = 2PR/(P+R); all zero without ground truth or true positives.
OperatingPoint best_f1(std::span<const MatchRecord> sorted, int64_t truths);

/// The greatest multiple of 0.001 that is no greater than the score, as the float that its three digits are read as: a
/// detection of this very score reaches it.
float threshold_of(float score);

/// Precision and recall at IoU 0.5 over the score threshold: 0, 0.005, …, 1. The precision without any
/// detection above the threshold is 0, as in best_mean_f1().
struct ScoreCurves {
  static constexpr int points = 201;
  std::array<float, points> precision{}, recall{};

  static double score(int point) { return static_cast<double>(point) / (points - 1); }
  double f1(int point) const;
};

/// Computes the curves of one class; all zero without ground truth.
ScoreCurves over_scores(std::span<const MatchRecord> sorted, int64_t truths);

/// One class's records, by descending score, and its number of ground-truth objects.
struct SortedClass {
  std::span<const MatchRecord> records;
  int64_t truths = 0;
};
/// The one score threshold for all classes at which the mean of their F1 is highest, and the means of their
/// precision, recall and F1 there. It is a multiple of 0.001, so that three digits say what was used. Classes
/// without ground truth do not count; one without detections above the threshold has a precision of 0. All
/// zero without true positives.
OperatingPoint best_mean_f1(std::span<const SortedClass> classes);

}  // namespace brightnet
