#include "train/detect/detections_json.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/error.h"

namespace brightnet {
namespace {

/// The shortest decimal number that reads back as the same float: 0.87, where the float's double would print
/// as 0.8700000047683716.
double shortest(float value) {
  char digits[32];
  const auto written = std::to_chars(digits, digits + sizeof(digits), value);
  double result = 0;
  std::from_chars(digits, written.ptr, result);
  return result;
}

/// As darknet prints numbers: "%f".
double six_decimals(double value) {
  return std::round(value * 1e6) / 1e6;
}

const std::string& name_of(const ScoredBox& detection, const std::vector<std::string>& class_names) {
  BRIGHTNET_CHECK(detection.class_id >= 0 && static_cast<size_t>(detection.class_id) < class_names.size(),
                  "a detection's class is out of range");
  return class_names[static_cast<size_t>(detection.class_id)];
}

}  // namespace

Json to_json(const Metrics& metrics) {
  Json classes = Json::array();
  for (const ClassMetrics& c : metrics.per_class) {
    classes.push_back({{"name", c.name},
                       {"AP", c.AP},
                       {"AP50", c.AP50},
                       {"truths", c.truths},
                       {"voc_AP50", c.voc_AP50},
                       {"precision", c.best.precision},
                       {"recall", c.best.recall},
                       {"f1", c.best.f1},
                       {"score", shortest(static_cast<float>(c.best.score))}});
  }
  return {{"AP", metrics.AP},
          {"AP50", metrics.AP50},
          {"AP75", metrics.AP75},
          {"APs", metrics.APs},
          {"APm", metrics.APm},
          {"APl", metrics.APl},
          {"AR", metrics.AR},
          {"per_class", std::move(classes)},
          {"images", metrics.images},
          {"AR1", metrics.AR1},
          {"AR10", metrics.AR10},
          {"ARs", metrics.ARs},
          {"ARm", metrics.ARm},
          {"ARl", metrics.ARl},
          {"voc_AP50", metrics.voc_AP50},
          {"voc_AP50_11point", metrics.voc_AP50_11point},
          {"truths", metrics.truths},
          {"detections", metrics.detections}};
}

Metrics metrics_from(const Json& json) {
  Metrics metrics;
  const auto read = [](const Json& from, const char* key, auto& value) { from.at(key).get_to(value); };
  for (const Json& one : json.at("per_class")) {
    ClassMetrics& c = metrics.per_class.emplace_back();
    read(one, "name", c.name);
    read(one, "AP", c.AP);
    read(one, "AP50", c.AP50);
    read(one, "truths", c.truths);
    read(one, "voc_AP50", c.voc_AP50);
    read(one, "precision", c.best.precision);
    read(one, "recall", c.best.recall);
    read(one, "f1", c.best.f1);
    read(one, "score", c.best.score);
  }
  read(json, "AP", metrics.AP);
  read(json, "AP50", metrics.AP50);
  read(json, "AP75", metrics.AP75);
  read(json, "APs", metrics.APs);
  read(json, "APm", metrics.APm);
  read(json, "APl", metrics.APl);
  read(json, "AR", metrics.AR);
  read(json, "images", metrics.images);
  read(json, "AR1", metrics.AR1);
  read(json, "AR10", metrics.AR10);
  read(json, "ARs", metrics.ARs);
  read(json, "ARm", metrics.ARm);
  read(json, "ARl", metrics.ARl);
  read(json, "voc_AP50", metrics.voc_AP50);
  read(json, "voc_AP50_11point", metrics.voc_AP50_11point);
  read(json, "truths", metrics.truths);
  read(json, "detections", metrics.detections);
  return metrics;
}

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

std::string to_text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace brightnet
