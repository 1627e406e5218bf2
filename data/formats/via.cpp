// The VGG Image Annotator (VIA, versions 1 and 2): one JSON file with all images by a key that nobody needs, each with
// its regions, alone or as "_via_img_metadata" of a project,
//
//   {"a.jpg1234": {"filename": "a.jpg", "regions": [{"shape_attributes": {"name": "rect", "x": 1, "y": 2, "width": 3,
//    "height": 4}, "region_attributes": {"class": "cat"}}]}}
//
// The class is the region's only attribute or, of several, that called class, label, name, type, category or object.
// Polygons, circles and ellipses are read as the boxes around them.
//
// data.train, data.val or data.test is the file; images lie beside it or below data.root.
#include <cmath>

#include <fmt/format.h>

#include "core/files.h"
#include "data/formats/format.h"
#include "data/formats/json_file.h"
#include "data/formats/labels.h"
#include "data/formats/layout.h"
#include "data/formats/places.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;
using Kind = DataProblem::Kind;

/// The value of an attribute: a text, or of a checkbox the only option that is ticked.
std::string value_of(const ParsedJson& attribute) {
  if (attribute.is_string()) return attribute;
  std::string ticked;
  if (!attribute.is_object()) return "";
  for (const auto& [option, is_ticked] : attribute.items()) {
    if (!is_ticked.is_boolean() || !is_ticked.get<bool>()) continue;
    if (!ticked.empty()) return "";
    ticked = option;
  }
  return ticked;
}

std::string class_of(const ParsedJson& attributes) {
  if (attributes.is_object() && attributes.size() == 1) return value_of(*attributes.begin());
  for (const char* key : {"class", "label", "name", "type", "category", "object"}) {
    if (attributes.contains(key)) return value_of(attributes[key]);
  }
  return "";
}

/// Sets the corners; false where the shape is not one of VIA's, or lacks a number.
bool take_shape(const ParsedJson& shape, LabelledBox& box) {
  const auto number = [&](const char* key) { return json_number(shape, key).value_or(std::nan("")); };
  const std::string name = json_text(shape, "name");
  if (name == "rect") {
    const double x = number("x"), y = number("y");
    box.set_corners(x, y, x + number("width"), y + number("height"));
  } else if (name == "circle" || name == "ellipse") {
    const bool round = name == "circle";
    const double rx = number(round ? "r" : "rx"), ry = number(round ? "r" : "ry");
    const double angle = json_number(shape, "theta").value_or(0);
    const double dx = std::hypot(rx * std::cos(angle), ry * std::sin(angle)),
                 dy = std::hypot(rx * std::sin(angle), ry * std::cos(angle));
    const double cx = number("cx"), cy = number("cy");
    box.set_corners(cx - dx, cy - dy, cx + dx, cy + dy);
    box.outline = Outline::polygon;
  } else if (name == "polygon" || name == "polyline") {
    const ParsedJson &xs = json_member(shape, "all_points_x"), &ys = json_member(shape, "all_points_y");
    std::vector<cv::Point2d> points;
    if (!xs.is_array() || !ys.is_array() || xs.size() != ys.size() || xs.empty()) return false;
    for (size_t i = 0; i < xs.size(); ++i) {
      if (!xs[i].is_number() || !ys[i].is_number()) return false;
      points.emplace_back(xs[i].get<double>(), ys[i].get<double>());
    }
    box.enclose(points);
  } else {
    return false;
  }
  return std::isfinite(box.x1 + box.x2 + box.y1 + box.y2);
}

std::optional<LabelledBox> parse_region(const ParsedJson& region, const std::string& where, ProblemLog& log) {
  LabelledBox box;
  box.where = where;
  const ParsedJson& shape = json_member(region, "shape_attributes");
  if (json_text(shape, "name") == "point") return std::nullopt;  // has no area
  if (!take_shape(shape, box)) {
    log.add(Kind::malformed_label, where,
            "a region is no rect, polygon, circle or ellipse with all its numbers");
    return std::nullopt;
  }
  box.class_name = class_of(json_member(region, "region_attributes"));
  if (box.class_name.empty()) {
    log.add(Kind::malformed_label, where, "a region does not say its class",
            "Give each region one attribute in VIA, or one that is called class.");
    return std::nullopt;
  }
  return box;
}

std::unique_ptr<LabelSource> open_via(const DataOptions& options, Split split, ProblemLog& log) {
  const fs::path file = split_file(options, split, annotations_file);
  const ParsedJson document = read_json(file);
  const std::vector<fs::path> folders = image_folders(file, options.root, split);
  const ParsedJson& of_project = json_member(document, "_via_img_metadata");
  std::vector<LabelledImage> images;
  for (const auto& [key, entry] : (of_project.is_null() ? document : of_project).items()) {
    const std::string where = fmt::format("{}: '{}'", file.string(), key),
                      name = json_text(entry, "filename");
    if (name.empty()) {
      log.add(Kind::malformed_label, where, "an image needs a 'filename'");
      continue;
    }
    LabelledImage& image = images.emplace_back();
    image.file = find_below(name, folders);
    for (const ParsedJson& region : json_member(entry, "regions")) {  // a list, or in version 1 an object
      if (auto box = parse_region(region, where, log)) image.boxes.push_back(std::move(*box));
    }
  }
  return std::make_unique<LabelsInMemory>(joined_entries(std::move(images)));
}

std::string recognize_via(const fs::path& place, DataOptions& options) {
  const auto is_via = [](const fs::path& file) {
    const std::string head = json_head(file);
    return has_key(head, "_via_settings") || (has_key(head, "filename") && has_key(head, "regions"));
  };
  return take_json(place, is_via, options) ? "VIA's JSON" : "";
}

}  // namespace

DatasetFormat via_format() {
  return {.name = "via",
          .open = open_via,
          .written_extension = "",
          .recognize = recognize_via,
          .recognized_by = "VIA's JSON"};
}

}  // namespace brightnet
