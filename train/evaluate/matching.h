// Which detection found which truth, in one image and for one class: the part of average precision that needs
// the boxes. What it leaves behind is one small record a detection.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "data/dataset.h"

namespace brightnet {

/// A detection in pixels of the original image, by corners.
struct ScoredBox {
  float x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  int class_id = 0;
  float score = 0;
};

/// COCO's protocol: IoU thresholds 0.50:0.05:0.95, object sizes, and the detections of an image and class it
/// looks at.
inline constexpr int coco_thresholds = 10;
inline constexpr int coco_max_detections = 100;
enum CocoArea : int { area_all, area_small, area_medium, area_large, coco_areas };

/// The bit of MatchRecord::right and ::ignored for an object size and an IoU threshold (0 is 0.50, 5
/// is 0.75).
constexpr uint64_t coco_bit(int area, int threshold) {
  return uint64_t{1} << (area * coco_thresholds + threshold);
}

/// What became of one detection. Where neither bit is set, it was wrong.
struct MatchRecord {
  enum Voc : uint16_t { wrong, right_object, not_counted };

  int64_t image = 0;
  uint64_t right = 0;    ///< coco_bit: found an object that counts
  uint64_t ignored = 0;  ///< coco_bit: found a crowd or an object of another size, or found nothing and is
                         ///< itself of another size
  float score = 0;
  uint16_t rank = 0;  ///< among the image's detections of the class by score; 65535 stands for all after it
  uint16_t voc = wrong;
};
static_assert(sizeof(MatchRecord) == 32, "records travel between processes as they are");

/// How many objects of a class there are to be found.
struct TruthCounts {
  std::array<int64_t, coco_areas> coco{};
  int64_t voc = 0;

  void operator+=(const TruthCounts& other);
};

/// Intersection over union, with continuous areas. Over the area of `detection` alone when the truth is a
/// crowd and `coco_crowd` is asked for.
double overlap(const ScoredBox& detection, const Annotation& truth, bool coco_crowd);

/// Matches the detections of one image and class, sorted by falling score, with the truths of that class.
/// COCO: at each threshold a detection takes the free truth of highest IoU at or above it, one that counts
/// over one to be ignored; only the first coco_max_detections are used. VOC: a detection belongs to the truth
/// of highest IoU if that is at least 0.5; the first is a true positive, later ones are false; all detections
/// are used.
void match(int64_t image, std::span<const ScoredBox> detections, std::span<const Annotation> truths,
           std::vector<MatchRecord>& records, TruthCounts& counts);

}  // namespace brightnet
