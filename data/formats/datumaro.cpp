// Datumaro: annotations/SPLIT.json with the classes and all images of a split, and the images in images/SPLIT or images,
//
//   {"categories": {"label": {"labels": [{"name": "cat"}]}},
//    "items": [{"id": "a", "annotations": [{"type": "bbox", "label_id": 0, "bbox": [x, y, width, height],
//               "attributes": {"occluded": false}}], "image": {"path": "a.jpg", "size": [height, width]}}]}
//
// Polygons are read as the boxes around them. Annotations of other types are not objects with a place (captions, labels
// of whole images) or cannot be read (masks in runs, which are malformed).
//
// data.train, data.val or data.test is the JSON file.
#include <array>

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

std::vector<std::string> labels_of(const ParsedJson& document, const fs::path& file) {
  std::vector<std::string> names;
  for (const ParsedJson& label :
       json_member(json_member(json_member(document, "categories"), "label"), "labels"))
    names.push_back(json_text(label, "name"));
  if (names.empty())
    throw InputError("this file lists no labels", file.string(),
                     "Datumaro's files have categories and items.");
  return ClassNames(std::move(names), file.string()).names();
}

std::optional<LabelledBox> parse_annotation(const ParsedJson& annotation,
                                            const std::vector<std::string>& classes, const std::string& where,
                                            ProblemLog& log) {
  const std::string type = json_text(annotation, "type");
  if (type == "label" || type == "caption" || type == "points") return std::nullopt;
  const auto malformed = [&](const std::string& what, const std::string& remedy = "") {
    log.add(Kind::malformed_label, where, what, remedy);
    return std::nullopt;
  };
  LabelledBox box;
  box.where = where;
  if (type == "bbox") {
    const auto corners = json_points(json_member(annotation, "bbox"));
    if (corners.size() != 2) return malformed("a 'bbox' is not four numbers [x, y, width, height]");
    box.enclose(std::array{corners[0], corners[0] + corners[1]});
    box.outline = Outline::box;
    box.empty = !(corners[1].x > 0 && corners[1].y > 0);
    box.rotate(json_number(json_member(annotation, "attributes"), "rotation").value_or(0));
  } else if (type == "polygon" || type == "polyline") {
    const auto points = json_points(json_member(annotation, "points"));
    if (points.empty()) return malformed("a polygon's 'points' are not pairs of numbers");
    box.enclose(points);
  } else {
    return malformed(fmt::format("an annotation of the type '{}' cannot be read", type),
                     "Export boxes or polygons.");
  }
  const auto id = json_integer(annotation, "label_id");
  if (!id || *id < 0 || *id >= std::ssize(classes)) {
    log.add(Kind::unknown_class, where,
            id ? fmt::format("label_id {} is out of range: there are {} labels", *id, classes.size())
               : "an annotation has no integer 'label_id'");
    return std::nullopt;
  }
  box.class_name = classes[*id];
  const ParsedJson& crowd = json_member(json_member(annotation, "attributes"), "is_crowd");
  box.crowd = crowd.is_boolean() && crowd.get<bool>();
  return box;
}

std::unique_ptr<LabelSource> open_datumaro(const DataOptions& options, Split split, ProblemLog& log) {
  const fs::path file = split_file(options, split, annotations_file);
  const ParsedJson document = read_json(file);
  const std::vector<std::string> own = labels_of(document, file);
  const std::vector<fs::path> folders = image_folders(file, options.root, split);
  std::vector<LabelledImage> images;
  for (const ParsedJson& item : json_member(document, "items")) {
    const std::string where = fmt::format("{}: '{}'", file.string(), json_text(item, "id"));
    const ParsedJson& media =
        item.contains("image") ? json_member(item, "image") : json_member(item, "media");
    const std::string name = json_text(media, "path");
    if (name.empty()) {
      log.add(Kind::malformed_label, where, "an item has no 'image' with a 'path'");
      continue;
    }
    LabelledImage& image = images.emplace_back();
    image.file = find_below(name, folders);
    if (const auto size = json_points(json_member(media, "size")); size.size() == 1)
      image.declared = json_size(size[0].y, size[0].x);
    for (const ParsedJson& annotation : json_member(item, "annotations")) {
      if (auto box = parse_annotation(annotation, own, where, log)) image.boxes.push_back(std::move(*box));
    }
  }
  const bool of_train = split == Split::train || options.train.empty();
  const fs::path train = of_train ? file : split_file(options, Split::train, annotations_file);
  return std::make_unique<LabelsInMemory>(joined_entries(std::move(images)),
                                          of_train ? own : labels_of(read_json(train, {"items"}), train));
}

std::string recognize_datumaro(const fs::path& place, DataOptions& options) {
  const auto is_datumaro = [](const fs::path& file) {
    const std::string head = json_head(file);
    const size_t categories = head.find("\"categories\"");
    if (categories == std::string::npos) return false;
    const size_t value = head.find_first_not_of(" \t\r\n:", categories + 12);
    return value != std::string::npos && head[value] == '{';  // COCO's are a list
  };
  return take_json(place, is_datumaro, options) ? "Datumaro's JSON" : "";
}

}  // namespace

DatasetFormat datumaro_format() {
  return {.name = "datumaro",
          .open = open_datumaro,
          .written_extension = "",
          .recognize = recognize_datumaro,
          .recognized_by = "Datumaro's JSON (annotations/*.json)"};
}

}  // namespace brightnet
