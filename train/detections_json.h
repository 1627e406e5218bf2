// The answers of `eval --json` and `detect --json`: documented shapes that scripts may rely on.
//
// eval:   {"AP", "AP50", "AP75", "APs", "APm", "APl", "AR", "per_class": [{"name", "AP", "AP50", "truths"}],
// "images"}
//         and, beyond these, "AR1", "AR10", "ARs", "ARm", "ARl", "voc_AP50", "voc_AP50_11point", "truths",
//         "detections", and in each class "voc_AP50", "precision", "recall", "f1" and "score" (at the best
//         F1). A metric without anything to be found is -1, as in pycocotools.
// detect: [{"file", "width", "height", "detections": [{"class", "name", "score", "box": [x1, y1, x2, y2]}]}]
//         Boxes are in pixels of the image as it is shown, by corners, best score first.
//
// Keys are never renamed or removed; new ones may come.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "train/metrics.h"

namespace brightnet {

/// JSON that keeps keys in the order they are documented in.
using Json = nlohmann::ordered_json;

Json to_json(const Metrics& metrics);

/// One image of `detect`. Names that are not UTF-8 (a file name may be anything) have the offending bytes
/// replaced.
Json to_json(const std::string& file, int width, int height, std::span<const ScoredBox> detections,
             const std::vector<std::string>& class_names);

/// Text for people and programs: indented, ending in a newline.
std::string to_text(const Json& json);

}  // namespace brightnet
