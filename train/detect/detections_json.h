// The answers of `eval --json` and `detect --json`: documented shapes that scripts may rely on.
//
// eval:   {"AP", "AP50", "AP75", "APs", "APm", "APl", "AR", "per_class": [{"name", "AP", "AP50", "truths"}],
// "images"}
//         and, beyond these, "AR1", "AR10", "ARs", "ARm", "ARl", "voc_AP50", "voc_AP50_11point", "truths",
//         "detections", and in each class "voc_AP50", "precision", "recall", "f1" and "score" (at the best
//         F1). A metric without anything to be found is -1, as in pycocotools.
// detect: [{"file", "width", "height", "detections": [{"class", "name", "score", "box": [x1, y1, x2, y2]}]}]
//         Boxes are in pixels of the image as it is shown, by corners, best score first. A video's, camera's
//         or stream's frame has its number beside them, "frame", from 0.
// detect --coco-json: [{"image_id", "category_id", "bbox": [x, y, width, height], "score"}], one a detection,
// as
//         COCO's evaluation reads it; pixels from the upper left corner. Ids:
//         train/detect/outputs/coco_ids.h.
// detect --darknet-json: [{"frame_id", "filename", "objects": [{"class_id", "name", "relative_coordinates":
//         {"center_x", "center_y", "width", "height"}, "confidence"}]}], what `darknet detector test
//         -ext_output -out result.json` writes: frames from 1, fractions of the image, six decimals. Boxes
//         are not cut at the image's border.
//
// Keys are never renamed or removed; new ones may come.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "train/evaluate/metrics.h"

namespace brightnet {

/// JSON that keeps keys in the order they are documented in.
using Json = nlohmann::ordered_json;

Json to_json(const Metrics& metrics);
/// The metrics that such JSON was made from, but for their curves and confusion matrix, which are not in it.
/// Throws nlohmann::json::exception for other JSON.
Metrics metrics_from(const Json& json);

/// One image of `detect`. Names that are not UTF-8 (a file name may be anything) have the offending bytes
/// replaced.
Json to_json(const std::string& file, int width, int height, std::span<const ScoredBox> detections,
             const std::vector<std::string>& class_names);

/// One detection among COCO's results.
Json coco_result(int64_t image_id, int64_t category_id, const ScoredBox& detection);

/// One image of darknet's result.json.
Json darknet_result(int64_t frame_id, const std::string& file, int width, int height,
                    std::span<const ScoredBox> detections, const std::vector<std::string>& class_names);

/// Text for people and programs: indented, ending in a newline.
std::string to_text(const Json& json);

}  // namespace brightnet
