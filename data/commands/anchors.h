// `brightnet data anchors`: fits anchors by k-means over a data set's boxes with
// 1 − IoU as the distance (YOLOv2, Redmon and Farhadi 2017, §2: Euclidean distance would favour large boxes).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/input_size.h"
#include "data/dataset.h"

namespace brightnet {

struct AnchorOptions {
  int count = 9;
  InputSize size = 416;    ///< the network's input, in pixels: the unit of the anchors
  bool letterbox = false;  ///< keep the aspect ratio, as `augment.letterbox`; else images are stretched
  uint64_t seed = 0;
  int restarts = 10;           ///< k-means finds a local optimum; the best of these runs is returned
  size_t most_boxes = 200000;  ///< a larger data set (COCO has 860,000) is sampled evenly
};

/// The width and height of a box or anchor. (The loss has an Anchor of its own, in kernels/yolo.h.)
struct BoxShape {
  double width = 0, height = 0;  ///< pixels of the network's input
};

struct AnchorResult {
  std::vector<BoxShape> anchors;  ///< whole pixels, no two the same; by area, smallest first
  InputSize size;                 ///< the network's input, whose pixels these are
  int filled = 0;                 ///< number of anchors added because the data has fewer distinct shapes
  size_t boxes = 0;               ///< number of boxes that were clustered
  double mean_iou = 0;            ///< mean IoU of the boxes with their best anchors, on the same centre
  double recall_50 = 0;           ///< share of the boxes whose best IoU exceeds 0.5

  /// "[[10, 14], [23, 27]]", as the model's YAML wants them.
  std::string list() const;
  /// How well the anchors fit the boxes, in a line.
  std::string fit() const;
  /// The anchors as the model's YAML wants them, and how well they fit.
  std::string text() const;
  /// {"anchors": [[w, h]], "size", "filled", "boxes", "mean_iou", "recall_50"}
  nlohmann::json json() const;
};

/// The shapes of the data set's boxes as the network sees them; crowds are left out.
std::vector<BoxShape> box_shapes(const Dataset& dataset, const AnchorOptions& options);

/// IoU of two boxes on the same centre.
double shape_iou(const BoxShape& a, const BoxShape& b);

/// Deterministic for the same data, options and seed, for any number of threads. Crowds are ignored. If the
/// boxes have fewer distinct shapes, in whole pixels, than `count`, shapes between and around them are added.
/// Throws InputError when there is no box, or when the input is too small for so many distinct anchors.
AnchorResult find_anchors(const Dataset& dataset, const AnchorOptions& options);

}  // namespace brightnet
