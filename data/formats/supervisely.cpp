// Supervisely: a project's folder with meta.json, which lists the classes, and below it the folders of its datasets, each
// with the images in img/ and the labels of IMAGE.jpg in ann/IMAGE.jpg.json,
//
//   {"size": {"width": 640, "height": 480}, "objects": [{"classTitle": "cat", "geometryType": "rectangle",
//    "points": {"exterior": [[x, y], [x, y]]}}]}
//
// Polygons are read as the boxes around them; bitmaps cannot be read.
//
// data.train, data.val or data.test is the folder of a dataset, the project's for all of them, or a file that lists
// images.
#include "core/error.h"
#include "data/formats/folder.h"
#include "data/formats/format.h"
#include "data/formats/json_file.h"
#include "data/formats/labels.h"
#include "data/formats/layout.h"
#include "data/formats/places.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;
using Kind = DataProblem::Kind;

LabelFile supervisely_labels(const fs::path& image) {
  return find_label_file({image.parent_path().parent_path() / "ann" / (image.filename().string() + ".json")});
}

std::optional<LabelledBox> supervisely_box(const ParsedJson& object, const std::string& where,
                                           ProblemLog& log) {
  LabelledBox box;
  box.where = where;
  box.class_name = json_text(object, "classTitle");
  const std::string type = json_text(object, "geometryType");
  if (type == "point") return std::nullopt;
  if (type == "bitmap") {
    log.add(Kind::malformed_label, where, "an object is a bitmap, which cannot be read",
            "Convert bitmaps to polygons or rectangles in Supervisely.");
    return std::nullopt;
  }
  const auto points = json_points(json_member(json_member(object, "points"), "exterior"));
  if (box.class_name.empty() || points.size() < 2) {
    log.add(Kind::malformed_label, where, "an object needs a 'classTitle' and 'points' with an 'exterior'");
    return std::nullopt;
  }
  box.enclose(points);
  if (points.size() == 2) box.outline = Outline::box;
  return box;
}

void read_objects(const fs::path& labels, LabelledImage& image, ProblemLog& log) {
  const std::string where = labels.string();
  const std::optional<ParsedJson> document = read_label_json(labels, "objects", log);
  if (!document) return;
  image.declared = json_size(json_member(*document, "size"), "width", "height");
  for (const ParsedJson& object : json_member(*document, "objects")) {
    if (auto box = supervisely_box(object, where, log)) image.boxes.push_back(std::move(*box));
  }
}

std::vector<std::string> classes_of(const fs::path& root) {
  const fs::path file = root / "meta.json";
  std::vector<std::string> names;
  const ParsedJson document = read_json(file);
  for (const ParsedJson& one : json_member(document, "classes")) names.push_back(json_text(one, "title"));
  if (names.empty()) throw InputError("this project lists no classes", file.string(), "Check data.root.");
  return ClassNames(std::move(names), file.string()).names();
}

std::unique_ptr<LabelSource> open_supervisely(const DataOptions& options, Split split, ProblemLog& log) {
  const fs::path root = data_root(options), place = split_place(options, split, {root});
  std::vector<fs::path> images;
  if (!is_folder(place)) {
    images = read_image_list(place, options);
  } else {
    FolderFiles files = files_below(place);
    report_unknown_endings(files, supervisely_labels, log);
    for (fs::path& image : files.images) {  // not masks, of which a project may have folders too
      if (image.parent_path().filename() == "img") images.push_back(std::move(image));
    }
  }
  return std::make_unique<LabelsBesideImages>(std::move(images), supervisely_labels, read_objects,
                                              classes_of(root));
}

std::string recognize_supervisely(const fs::path& place, DataOptions& options) {
  if (!is_folder(place) || !has_key(json_head(place / "meta.json"), "classes")) return "";
  const auto good = [](const fs::path& folder) {
    return any_image(folder, [](const fs::path& image) { return supervisely_labels(image).found; });
  };
  if (!good(place)) return "";
  if (!take_splits(place, {"*"}, {.train = good, .labelled = good}, options)) {
    options.root = place.string();
    options.train = std::string(1, '.');  // g++ 12 misreads the literal: -Wrestrict
  }
  return "a Supervisely project";
}

}  // namespace

DatasetFormat supervisely_format() {
  return {.name = "supervisely",
          .open = open_supervisely,
          .recognize = recognize_supervisely,
          .recognized_by = "a Supervisely project (meta.json, and ann/ and img/ below its datasets)"};
}

}  // namespace brightnet
