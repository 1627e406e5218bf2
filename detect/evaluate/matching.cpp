// Follows pycocotools' COCOeval exactly wherever the result depends on it: thresholds as numpy.linspace
// computes them, doubles throughout, and of equal IoUs the later truth wins.
#include "detect/evaluate/matching.h"

#include <algorithm>

namespace brightnet {
namespace {

struct AreaRange {
  double low, high;
  bool excludes(double area) const { return area < low || area > high; }
};
constexpr AreaRange area_ranges[coco_areas] = {{0, 1e10}, {0, 32 * 32}, {32 * 32, 96 * 96}, {96 * 96, 1e10}};

double threshold(int i) {
  constexpr double step = (0.95 - 0.5) / (coco_thresholds - 1);
  return i == coco_thresholds - 1 ? 0.95 : i * step + 0.5;
}

double area(const ScoredBox& box) {
  return (double{box.x2} - double{box.x1}) * (double{box.y2} - double{box.y1});
}

/// A truth that a detection overlaps enough to match at the lowest threshold.
struct Pair {
  int truth;
  double iou;
};
/// The pairs of each detection, by ascending index of the truth.
using Pairs = std::vector<std::vector<Pair>>;

Pairs find_pairs(std::span<const ScoredBox> detections, std::span<const Annotation> truths, bool coco_crowd) {
  Pairs pairs(detections.size());
  for (size_t d = 0; d < detections.size(); ++d) {
    for (size_t t = 0; t < truths.size(); ++t) {
      const double iou = overlap(detections[d], truths[t], coco_crowd);
      if (iou >= 0.5) pairs[d].push_back({static_cast<int>(t), iou});
    }
  }
  return pairs;
}

/// The unmatched truth of highest IoU, at least `least`, among those that are (or are not) ignored; -1: none.
int best_free_truth(const std::vector<Pair>& pairs, double least, std::span<const Annotation> truths,
                    const std::vector<char>& ignored, bool want_ignored, const std::vector<char>& taken) {
  int best = -1;
  for (const Pair& pair : pairs) {
    if (static_cast<bool>(ignored[pair.truth]) != want_ignored || pair.iou < least) continue;
    if (taken[pair.truth] && !truths[pair.truth].crowd) continue;
    best = pair.truth;
    least = pair.iou;
  }
  return best;
}

void match_coco(std::span<const ScoredBox> detections, std::span<const Annotation> truths, const Pairs& pairs,
                std::span<MatchRecord> records, TruthCounts& counts) {
  const size_t considered = std::min<size_t>(detections.size(), coco_max_detections);
  std::vector<char> ignored(truths.size()), taken(truths.size());
  for (int a = 0; a < coco_areas; ++a) {
    for (size_t t = 0; t < truths.size(); ++t) {
      ignored[t] = truths[t].crowd || area_ranges[a].excludes(truths[t].area);
      counts.coco[a] += !ignored[t];
    }
    for (int i = 0; i < coco_thresholds; ++i) {
      const uint64_t bit = coco_bit(a, i);
      std::fill(taken.begin(), taken.end(), 0);
      for (size_t d = 0; d < considered; ++d) {
        int found = best_free_truth(pairs[d], threshold(i), truths, ignored, false, taken);
        if (found >= 0) {
          records[d].right |= bit;
        } else {
          found = best_free_truth(pairs[d], threshold(i), truths, ignored, true, taken);
          if (found >= 0 || area_ranges[a].excludes(area(detections[d]))) records[d].ignored |= bit;
        }
        if (found >= 0) taken[found] = 1;
      }
    }
  }
}

void match_voc(std::span<const Annotation> truths, const Pairs& pairs, std::span<MatchRecord> records,
               TruthCounts& counts) {
  std::vector<char> taken(truths.size());
  for (const Annotation& truth : truths) counts.voc += !truth.difficult && !truth.crowd;
  for (size_t d = 0; d < records.size(); ++d) {
    int best = -1;
    double best_iou = 0;
    for (const Pair& pair : pairs[d]) {
      if (pair.iou > best_iou) {
        best = pair.truth;
        best_iou = pair.iou;
      }
    }
    if (best < 0) continue;
    if (truths[best].difficult || truths[best].crowd) {
      records[d].voc = MatchRecord::not_counted;
    } else if (!taken[best]) {
      records[d].voc = MatchRecord::right_object;
      taken[best] = 1;
    }
  }
}

}  // namespace

void TruthCounts::operator+=(const TruthCounts& other) {
  for (int a = 0; a < coco_areas; ++a) coco[a] += other.coco[a];
  voc += other.voc;
}

double overlap(const ScoredBox& detection, const Annotation& truth, bool coco_crowd) {
  const double w = double{std::min(detection.x2, truth.x2)} - double{std::max(detection.x1, truth.x1)};
  const double h = double{std::min(detection.y2, truth.y2)} - double{std::max(detection.y1, truth.y1)};
  if (w <= 0 || h <= 0) return 0;
  const double intersection = w * h;
  const double own = area(detection);
  if (coco_crowd && truth.crowd) return intersection / own;
  const double truth_area = (double{truth.x2} - double{truth.x1}) * (double{truth.y2} - double{truth.y1});
  return intersection / (own + truth_area - intersection);
}

void match(int64_t image, std::span<const ScoredBox> detections, std::span<const Annotation> truths,
           std::vector<MatchRecord>& records, TruthCounts& counts) {
  const size_t first = records.size();
  records.resize(first + detections.size());
  const std::span<MatchRecord> added(records.data() + first, detections.size());
  for (size_t d = 0; d < added.size(); ++d) {
    added[d].image = image;
    added[d].score = detections[d].score;
    added[d].rank = static_cast<uint16_t>(std::min<size_t>(d, UINT16_MAX));
  }
  const bool crowd = std::any_of(truths.begin(), truths.end(), [](const Annotation& t) { return t.crowd; });
  const Pairs plain = find_pairs(detections, truths, false);
  match_coco(detections, truths, crowd ? find_pairs(detections, truths, true) : plain, added, counts);
  match_voc(truths, plain, added, counts);
}

}  // namespace brightnet
