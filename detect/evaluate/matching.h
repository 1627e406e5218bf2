// Matches detections with ground truth, in one image and class: the part of average precision that needs the
// boxes. Its result is one small record per detection.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/box.h"
#include "data/dataset.h"

namespace brightnet {

/// COCO's protocol: IoU thresholds 0.50:0.05:0.95, object sizes, and detections used per image and class.
inline constexpr int coco_thresholds = 10;
inline constexpr int coco_max_detections = 100;
enum CocoArea : int { area_all, area_small, area_medium, area_large, coco_areas };

/// The bit of MatchRecord::right and ::ignored for an object size and IoU threshold (0: 0.50, 5: 0.75).
constexpr uint64_t coco_bit(int area, int threshold) {
  return uint64_t{1} << (area * coco_thresholds + threshold);
}

/// The outcome of one detection. Where neither bit is set, it is a false positive.
struct MatchRecord {
  enum Voc : uint16_t { wrong, right_object, not_counted };

  int64_t image = 0;
  /// coco_bit: matched an object that counts.
  uint64_t right = 0;
  /// coco_bit: matched a crowd or an object of another size, or is unmatched and itself of another size.
  uint64_t ignored = 0;
  float score = 0;
  /// Index among the image's detections of the class by score, saturating at 65535.
  uint16_t rank = 0;
  uint16_t voc = wrong;
};
static_assert(sizeof(MatchRecord) == 32, "records are sent between processes as raw bytes");

/// Number of ground-truth objects of a class.
struct TruthCounts {
  std::array<int64_t, coco_areas> coco{};
  int64_t voc = 0;

  void operator+=(const TruthCounts& other);
};

/// Intersection over union, with continuous areas; with `coco_crowd`, intersection over the area of
/// `detection` when the truth is a crowd.
double overlap(const ScoredBox& detection, const Annotation& truth, bool coco_crowd);

/// Matches the detections of one image and class, sorted by descending score, with the ground truth.
/// COCO: at each threshold a detection takes the unmatched truth of highest IoU at or above it, preferring
/// truths that are not ignored; only the first coco_max_detections are used. VOC: a detection belongs to the
/// truth of highest IoU if that is at least 0.5; the first is a true positive, later ones are false
/// positives; all detections are used.
void match(int64_t image, std::span<const ScoredBox> detections, std::span<const Annotation> truths,
           std::vector<MatchRecord>& records, TruthCounts& counts);

}  // namespace brightnet
