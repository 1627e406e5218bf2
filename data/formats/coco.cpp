// COCO: one JSON file with images, annotations and categories, and a folder of images.
//
// Category ids, which have gaps, become 0, 1, 2 … in the order of the ids, or the places of their names in
// data.classes. Crowds (iscrowd) and areas are kept for the evaluation. Segmentations are skipped while
// parsing, since they are nine tenths of the file, unless an annotation has nothing else: then its box is the
// one around its polygons.
//
// data.train, data.val or data.test is the JSON file. Of the folders in which the images may lie (image_folders()) the
// first that holds one of the first hundred is the folder of all. Without data.classes the names come from the train
// split's file for all splits.
#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "data/formats/coco_document.h"
#include "data/formats/coco_parts.h"
#include "data/formats/format.h"
#include "data/formats/json_file.h"
#include "data/formats/labels.h"
#include "data/formats/layout.h"
#include "data/formats/places.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;
using Kind = DataProblem::Kind;

ClassNames names_in_order(const std::map<int64_t, std::string>& categories, const fs::path& file) {
  if (categories.empty()) throw InputError("the list of categories is empty", file.string());
  std::vector<std::string> names;
  // Two categories of one name are one class: Roboflow's first one, which has no objects, may have that of the only class.
  for (const auto& [id, name] : categories) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return ClassNames(std::move(names), file.string());
}

struct Paths {
  fs::path root, json;
  Split split;
};

// Finds the folder that the file names start from; a name may contain folders itself ("train2017/000000000009.jpg").
fs::path find_image_folder(const std::vector<LabelledImage>& images, const Paths& paths) {
  const std::vector<fs::path> candidates = image_folders(paths.json, paths.root, paths.split);
  constexpr size_t enough = 100;
  for (const auto& folder : candidates) {
    for (size_t i = 0; i < std::min(enough, images.size()); ++i) {
      std::error_code failed;
      if (fs::exists(find_below(images[i].file.string(), {folder}), failed)) return folder;
    }
  }
  return paths.root;
}

bool is_numbers(const ParsedJson& list) {
  return list.is_array() &&
         std::all_of(list.begin(), list.end(), [](const ParsedJson& v) { return v.is_number(); });
}

bool written_box(const ParsedJson& annotation, LabelledBox& box, const std::string& where, ProblemLog& log) {
  const ParsedJson& corners = annotation["bbox"];
  if (!is_numbers(corners) || corners.size() != 4) {
    log.add(Kind::malformed_label, where, "its 'bbox' is not four numbers [x, y, width, height]");
    return false;
  }
  const double x = corners[0], y = corners[1];
  box.set_corners(x, y, x + corners[2].get<double>(), y + corners[3].get<double>());
  box.rotate(json_number(json_member(annotation, "attributes"), "rotation").value_or(0));
  return true;
}

bool box_around_polygons(const ParsedJson& annotation, LabelledBox& box, const std::string& where,
                         ProblemLog& log) {
  const auto polygons = annotation.find("segmentation");
  if (polygons == annotation.end() || !polygons->is_array() || polygons->empty()) {
    const bool mask = polygons != annotation.end() && polygons->is_object();
    log.add(Kind::malformed_label, where,
            mask ? "it has no 'bbox', and its segmentation is a mask in runs, not polygons"
                 : "it has no 'bbox' and no polygons in its 'segmentation'",
            mask ? "Write a bbox beside the mask, as pycocotools' mask.toBbox gives it." : "");
    return false;
  }
  std::vector<cv::Point2d> points;
  for (const ParsedJson& polygon : *polygons) {
    if (!is_numbers(polygon) || polygon.size() < 6 || polygon.size() % 2 != 0) {
      log.add(Kind::malformed_label, where,
              "it has no 'bbox', and a polygon of its segmentation is not x and y of three or more points");
      return false;
    }
    for (size_t i = 0; i < polygon.size(); i += 2)
      points.emplace_back(polygon[i].get<double>(), polygon[i + 1].get<double>());
  }
  box.enclose(points);
  return true;
}

/// The images of a document with their boxes.
class CocoReader {
 public:
  CocoReader(const ParsedJson& document, const Paths& paths, ProblemLog& log) : file_(paths.json) {
    read_images(document, log);
    const fs::path folder = find_image_folder(images_, paths);
    // Only names with backslashes, written on Windows, need a lookup on disk.
    for (auto& image : images_) {
      const std::string name = image.file.string();
      image.file = name.find('\\') == std::string::npos ? (folder / name).lexically_normal()
                                                        : find_below(name, {folder});
    }
    read_annotations(document, log);
  }

  std::vector<LabelledImage> take() { return std::move(images_); }

 private:
  void read_images(const ParsedJson& document, ProblemLog& log) {
    const ParsedJson& images = coco_list(document, "images", file_);
    std::unordered_map<std::string, size_t> by_name;
    for (size_t i = 0; i < images.size(); ++i) {
      const auto id = json_integer(images[i], "id");
      const std::string name = coco_file_name(images[i]);
      const std::string where = file_.string() + ": images[" + std::to_string(i) + ']';
      if (!id || name.empty()) {
        log.add(Kind::malformed_label, where, "an image needs an integer 'id' and a 'file_name'");
        continue;
      }
      if (by_id_.contains(*id)) {
        log.add(Kind::malformed_label, where, "image id " + std::to_string(*id) + " is listed twice");
        continue;
      }
      const auto [first, is_new] = by_name.try_emplace(name, images_.size());
      by_id_[*id] = first->second;
      if (!is_new) {
        log.add(Kind::listed_twice, where,
                fmt::format("{} with the id {}, which becomes {}, its first", name, *id,
                            *images_[first->second].id));
        continue;
      }
      LabelledImage image;
      image.file = name;
      image.id = *id;
      image.declared = json_size(images[i], "width", "height");
      images_.push_back(std::move(image));
    }
  }

  void read_annotations(const ParsedJson& document, ProblemLog& log) {
    const std::map<int64_t, std::string> names = coco_categories(document, file_);
    const ParsedJson& annotations = coco_list(document, "annotations", file_);
    for (size_t i = 0; i < annotations.size(); ++i) {
      const ParsedJson& annotation = annotations[i];
      const auto id = json_integer(annotation, "id");
      const std::string where = file_.string() + ": annotation " +
                                (id ? "id " + std::to_string(*id) : '[' + std::to_string(i) + ']');
      const auto image_id = json_integer(annotation, "image_id");
      const auto image = image_id ? by_id_.find(*image_id) : by_id_.end();
      if (image == by_id_.end()) {
        log.add(Kind::malformed_label, where,
                image_id ? "its image_id " + std::to_string(*image_id) + " is not among the images"
                         : "it has no integer 'image_id'");
        continue;
      }
      if (auto box = parse_box(annotation, names, where, log))
        images_[image->second].boxes.push_back(std::move(*box));
    }
  }

  std::optional<LabelledBox> parse_box(const ParsedJson& annotation,
                                       const std::map<int64_t, std::string>& names, const std::string& where,
                                       ProblemLog& log) const {
    const auto category = json_integer(annotation, "category_id");
    const auto name = category ? names.find(*category) : names.end();
    if (name == names.end()) {
      log.add(Kind::unknown_class, where,
              category ? "its category_id " + std::to_string(*category) + " is not among the categories"
                       : "it has no integer 'category_id'",
              names.empty()
                  ? ""
                  : "The nearest known class is " + nearest_category(names, category.value_or(0)) + '.');
      return std::nullopt;
    }
    LabelledBox box;
    if (lacks_box(annotation) ? !box_around_polygons(annotation, box, where, log)
                              : !written_box(annotation, box, where, log)) {
      return std::nullopt;
    }
    box.class_name = name->second;
    const ParsedJson& crowd = json_member(annotation, "iscrowd");  // 0 or 1, or Python's bool
    box.crowd = crowd.is_boolean() ? crowd.get<bool>() : json_number(annotation, "iscrowd").value_or(0) != 0;
    box.area = json_number(annotation, "area");
    box.where = where;
    return box;
  }

  /// The distance of any two ids, unsigned because their difference may exceed int64_t.
  static uint64_t distance(int64_t a, int64_t b) {
    return std::max(a, b) - static_cast<uint64_t>(std::min(a, b));
  }

  static std::string nearest_category(const std::map<int64_t, std::string>& names, int64_t id) {
    auto nearest = names.begin();
    for (auto it = names.begin(); it != names.end(); ++it) {
      if (distance(it->first, id) < distance(nearest->first, id)) nearest = it;
    }
    return std::to_string(nearest->first) + ", '" + nearest->second + '\'';
  }

  fs::path file_;
  std::vector<LabelledImage> images_;
  std::unordered_map<int64_t, size_t> by_id_;
};

// The names of the classes. All splits must number them alike, so they are those of the train split's file.
ClassNames class_names(const DataOptions& options, Split split, const ParsedJson& document,
                       const fs::path& file) {
  if (split != Split::train && !options.train.empty() && options.train != options.place(split)) {
    const fs::path train = find_below(options.train, {options.root});
    return names_in_order(coco_categories(parse_coco(train, {"images", "annotations"}), train), train);
  }
  return names_in_order(coco_categories(document, file), file);
}

std::unique_ptr<LabelSource> open_coco(const DataOptions& options, Split split, ProblemLog& log) {
  const fs::path file = split_file(options, split, annotations_file);
  const ParsedJson document = read_coco(file);
  const ClassNames classes = class_names(options, split, document, file);
  CocoReader reader(document, Paths{options.root, file, split}, log);
  return std::make_unique<LabelsInMemory>(reader.take(), classes.names());
}

/// Whether a JSON file holds COCO's instances, judged by its beginning.
bool is_instances_file(const fs::path& file) {
  const std::string head = json_head(file);
  return has_key(head, "images") || has_key(head, "annotations");
}

std::string recognize_coco(const fs::path& place, DataOptions& options) {
  // COCO's own archive also has captions_train2017.json and person_keypoints_train2017.json.
  if (!take_json(place, is_instances_file, options, {"instances"})) return "";
  return is_folder(place) ? "a folder with COCO JSON" : "COCO JSON";
}

}  // namespace

DatasetFormat coco_format() {
  return {.name = "coco",
          .open = open_coco,
          .written_extension = ".json",
          .write_parts = write_coco_parts,
          .recognize = recognize_coco,
          .recognized_by =
              "a COCO JSON (images, annotations and categories), two of them separated by a comma, or a "
              "folder with annotations/*.json"};
}

}  // namespace brightnet
