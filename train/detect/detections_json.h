// What `detect` writes for programs, in documented shapes that scripts may rely on.
//
// --json          [{"file", "width", "height", "detections": [{"class", "name", "score", "box": [x1, y1, x2,
// y2]}]}]
//                 Boxes are in pixels of the image as it is shown, by corners, best score first. A video's,
//                 camera's or stream's frame has its number beside them, "frame", from 0.
// --coco-json     [{"image_id", "category_id", "bbox": [x, y, width, height], "score"}], one a detection, as
// COCO's
//                 evaluation reads it; pixels from the upper left corner. Ids:
//                 train/detect/outputs/coco_ids.h.
// --darknet-json  [{"frame_id", "filename", "objects": [{"class_id", "name", "relative_coordinates":
// {"center_x",
//                 "center_y", "width", "height"}, "confidence"}]}], what `darknet detector test -ext_output
//                 -out result.json` writes: frames from 1, fractions of the image, six decimals. Boxes are
//                 not cut at the image's border.
//
// Keys are never renamed or removed; new ones may come.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/json.h"
#include "train/evaluate/metrics.h"

namespace brightnet {

/// One image of `detect`. Names that are not UTF-8 (a file name may be anything) have the offending
/// bytes replaced.
Json to_json(const std::string& file, int width, int height, std::span<const ScoredBox> detections,
             const std::vector<std::string>& class_names);

/// One detection among COCO's results.
Json coco_result(int64_t image_id, int64_t category_id, const ScoredBox& detection);

/// One image of darknet's result.json.
Json darknet_result(int64_t frame_id, const std::string& file, int width, int height,
                    std::span<const ScoredBox> detections, const std::vector<std::string>& class_names);

}  // namespace brightnet
