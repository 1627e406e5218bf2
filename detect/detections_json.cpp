#include "detect/detections_json.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace brightnet {
namespace {

/// Rounds to what darknet prints: "%f".
double six_decimals(double value) {
  return std::round(value * 1e6) / 1e6;
}

const std::string& name_of(const ScoredBox& detection, const std::vector<std::string>& class_names) {
  BRIGHTNET_CHECK(detection.class_id >= 0 && static_cast<size_t>(detection.class_id) < class_names.size(),
                  "a detection's class is out of range");
  return class_names[detection.class_id];
}

}  // namespace

Json to_json(const std::string& file, int width, int height, std::span<const ScoredBox> detections,
             const std::vector<std::string>& class_names) {
  std::vector<ScoredBox> sorted(detections.begin(), detections.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const ScoredBox& a, const ScoredBox& b) { return a.score > b.score; });
  Json list = Json::array();
  for (const ScoredBox& d : sorted) {
    list.push_back({{"class", d.class_id},
                    {"name", name_of(d, class_names)},
                    {"score", shortest(d.score)},
                    {"box", Json::array({shortest(d.x1), shortest(d.y1), shortest(d.x2), shortest(d.y2)})}});
  }
  return {{"file", file}, {"width", width}, {"height", height}, {"detections", std::move(list)}};
}

Json coco_result(int64_t image_id, int64_t category_id, const ScoredBox& detection) {
  return {
      {"image_id", image_id},
      {"category_id", category_id},
      {"bbox", Json::array({shortest(detection.x1), shortest(detection.y1),
                            shortest(detection.x2 - detection.x1), shortest(detection.y2 - detection.y1)})},
      {"score", shortest(detection.score)}};
}

Json darknet_result(int64_t frame_id, const std::string& file, int width, int height,
                    std::span<const ScoredBox> detections, const std::vector<std::string>& class_names) {
  Json objects = Json::array();
  for (const ScoredBox& d : detections) {
    const double w = width, h = height;
    objects.push_back({{"class_id", d.class_id},
                       {"name", name_of(d, class_names)},
                       {"relative_coordinates",
                        {{"center_x", six_decimals((d.x1 + d.x2) / (2 * w))},
                         {"center_y", six_decimals((d.y1 + d.y2) / (2 * h))},
                         {"width", six_decimals((d.x2 - d.x1) / w)},
                         {"height", six_decimals((d.y2 - d.y1) / h)}}},
                       {"confidence", six_decimals(d.score)}});
  }
  return {{"frame_id", frame_id}, {"filename", file}, {"objects", std::move(objects)}};
}

}  // namespace brightnet
