// Average precision, by the COCO protocol and by Pascal VOC's, from detections and annotations in pixels.
//
//   DetectionEvaluator evaluator(dataset.classes);
//   for (each image of this rank) evaluator.add(record.id, detections, record.annotations);
//   for (each other rank) evaluator.merge(that rank's serialize());
//   const Metrics metrics = evaluator.finish();
//
// Each image is matched when added, and only a small record per detection is kept, so shards of a data set
// can be evaluated separately and merged: the result is bit-identical for any split and order.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"
#include "detect/evaluate/average_precision.h"
#include "detect/evaluate/confusion.h"
#include "detect/evaluate/matching.h"
#include "kernels/math/loss_totals.h"

namespace brightnet {

struct ClassMetrics {
  std::string name;
  double AP = no_truths, AP50 = no_truths;
  double voc_AP50 = no_truths;
  int64_t truths = 0;      ///< ground-truth objects, without crowds
  OperatingPoint best;     ///< point of the highest F1, and the score threshold that reaches it
  PrecisionCurve curve{};  ///< precision over recall at IoU 0.5; all zero without truths
  ScoreCurves by_score{};  ///< precision and recall by score threshold at IoU 0.5; all zero without truths
};

/// An image, and its detections of at least the confidence that the confusion matrix counts by.
struct JudgedImage {
  int64_t id = 0;
  double badness = 0;  ///< ImageVerdicts::badness()
  std::vector<ScoredBox> boxes;
};

/// How many of the images on which an evaluation went worst are kept, for pictures of them.
inline constexpr size_t pictured_images = 32;

/// All in [0, 1], or no_truths. AP, AR …: names and definitions are COCO's (cocodataset.org/#detection-eval).
struct Metrics {
  double AP = no_truths;    ///< mean over classes and IoU 0.50:0.05:0.95, 100 detections per image and class
  double AP50 = no_truths;  ///< AP at IoU 0.50 alone
  double AP75 = no_truths;
  double APs = no_truths, APm = no_truths, APl = no_truths;  ///< objects of area ≤ 32², 32²…96², ≥ 96² pixels
  double AR1 = no_truths, AR10 = no_truths;  ///< mean recall with 1 and 10 detections an image
  double AR = no_truths;                     ///< mean recall with 100 detections an image
  double ARs = no_truths, ARm = no_truths, ARl = no_truths;
  double voc_AP50 = no_truths;          ///< VOC 2010 and later: exact area under the curve
  double voc_AP50_11point = no_truths;  ///< VOC 2007: eleven recall levels
  std::vector<ClassMetrics> per_class;  ///< one for each class of the data set, in its order
  PrecisionCurve curve{};               ///< mean over the classes with ground truth
  /// Means over the classes with ground truth, at the one score threshold where the mean F1 is best: the confidence
  /// to detect with.
  OperatingPoint best;
  /// Training's loss (docs/loss.md); only where the evaluated network computes it.
  std::optional<MeanLoss> loss;
  /// The matrix counts at that confidence, or at detect's own where nothing was found.
  ConfusionMatrix confusion;
  /// The images in which labels and detections disagree most at that confidence, the worst first: one of the two is wrong
  /// there.
  std::vector<JudgedImage> worst;
  int64_t images = 0, truths = 0, detections = 0;
};

/// Collects images and computes the metrics. Not thread-safe: use one evaluator per thread, then merge.
class DetectionEvaluator {
 public:
  explicit DetectionEvaluator(std::vector<std::string> class_names);

  /// Adds one image, once. `image_id` breaks ties between equal scores in different images, as the sorted ids
  /// do in pycocotools. Detections may be in any order (equal scores keep it); a box with a NaN coordinate
  /// matches nothing.
  /// COCO: a crowd matches any number of detections (overlap over the detection's own area), none of which is
  /// counted; `difficult` is ignored. VOC: difficult and crowd objects, and detections of them, are not
  /// counted; areas are continuous (no +1 pixel).
  void add(int64_t image_id, std::span<const ScoredBox> detections, std::span<const Annotation> truths);

  /// The collected records, for merge() in another process of the same byte order.
  std::string serialize() const;
  /// Adds the records of another evaluator with the same classes, from other images.
  void merge(std::string_view serialized);

  Metrics finish() const;

 private:
  struct ClassRecords {
    std::vector<MatchRecord> records;  ///< grouped by image, best score first
    TruthCounts truths;
  };

  /// An image's boxes, all kept: the confidence at which they are judged is known only after the last image.
  struct Image {
    std::vector<ScoredBox> boxes;
    std::vector<Annotation> truths;
  };

  void judge_images(Metrics& metrics) const;

  std::vector<std::string> names_;
  std::map<int64_t, Image> images_;
  std::vector<ClassRecords> classes_;
};

}  // namespace brightnet
