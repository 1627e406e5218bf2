// The JSON formats of `detect`, stable for use by scripts.
//
// --json          [{"file", "width", "height",
//                   "detections": [{"class", "name", "score", "box": [x1, y1, x2, y2]}]}]
//                 Corners in pixels of the image as shown, sorted by descending score. A frame of a video,
//                 camera or stream also has its number, "frame", from 0.
// --coco-json     [{"image_id", "category_id", "bbox": [x, y, width, height], "score"}]
//                 COCO's results format: one entry per detection, in pixels as in "box" above, or with --coco-ids
//                 in those that the annotations refer to (docs/detect.md). Ids: detect/outputs/coco_ids.h.
// --darknet-json  [{"frame_id", "filename", "objects": [{"class_id", "name", "relative_coordinates":
//                   {"center_x", "center_y", "width", "height"}, "confidence"}]}]
//                 As written by `darknet detector test -ext_output -out result.json`: frames from 1,
//                 fractions of the image, six decimals. Boxes are not clipped to the image.
//
// Keys are never renamed or removed; new ones may be added.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/box.h"
#include "core/json.h"

namespace brightnet {

/// One image of `detect`. Names that are not UTF-8 (a file name may be anything) have the offending
/// bytes replaced.
Json to_json(const std::string& file, int width, int height, std::span<const ScoredBox> detections,
             const std::vector<std::string>& class_names);

/// One detection in COCO's results format.
Json coco_result(int64_t image_id, int64_t category_id, const ScoredBox& detection);

/// One image of darknet's result.json.
Json darknet_result(int64_t frame_id, const std::string& file, int width, int height,
                    std::span<const ScoredBox> detections, const std::vector<std::string>& class_names);

}  // namespace brightnet
