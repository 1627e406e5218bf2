// LabelMe: for each image a JSON file of its name,
//
//   {"shapes": [{"label": "cat", "shape_type": "rectangle", "points": [[x, y], [x, y]]}], "imagePath": "a.jpg",
//    "imageWidth": 640, "imageHeight": 480}
//
// beside it or in the folder labels, annotations or json in the place of images. A file of another name belongs to the
// image in its imagePath, also where a file lists the images. Rectangles are two corners, circles their centre and a
// point; other outlines are read as the boxes around them, and a single point is no object with a place.
//
// data.train, data.val or data.test is a folder of images or a file that lists them.
#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/error.h"
#include "data/formats/folder.h"
#include "data/formats/format.h"
#include "data/formats/json_file.h"
#include "data/formats/labels.h"
#include "data/formats/layout.h"
#include "data/formats/places.h"
#include "data/image/read_image.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;
using Kind = DataProblem::Kind;

bool is_labelme(const fs::path& file) {
  const std::string head = json_head(file);
  return has_key(head, "shapes");
}

std::vector<fs::path> labelme_places(const fs::path& image) {
  std::vector<fs::path> places{fs::path(image).replace_extension(".json")};
  for (const char* parallel : {"labels", "annotations", "json"}) {
    const FolderPair pair{"images", parallel};
    places.push_back(parallel_label(image, {&pair, 1}));
    if (!places.back().empty()) places.back().replace_extension(".json");
  }
  return places;
}

LabelFile labelme_labels(const fs::path& image) {
  return find_label_file(labelme_places(image));
}

/// An image's pixels may be in its labels, where nobody needs them.
constexpr const char* pixels = "imageData";

std::optional<LabelledBox> parse_shape(const ParsedJson& shape, const std::string& where, ProblemLog& log) {
  LabelledBox box;
  box.where = where;
  box.class_name = json_text(shape, "label");
  const std::string type = json_text(shape, "shape_type");
  std::vector<cv::Point2d> points = json_points(json_member(shape, "points"));
  if (type == "point" || type == "points") return std::nullopt;
  if (type == "circle" && points.size() == 2) {
    const double radius = std::hypot(points[1].x - points[0].x, points[1].y - points[0].y);
    const cv::Point2d corner(radius, radius);
    points = {points[0] - corner, points[0] + corner};
  }
  const bool corners = type == "rectangle" || type == "mask" || type == "circle";
  if (box.class_name.empty() || points.size() < 2 || (points.size() != 2 && type == "circle")) {
    log.add(Kind::malformed_label, where, "a shape needs a 'label' and the numbers of its 'points'");
    return std::nullopt;
  }
  box.enclose(points);
  if (corners && points.size() == 2) box.outline = type == "rectangle" ? Outline::box : Outline::polygon;
  return box;
}

void read_shapes(const fs::path& labels, LabelledImage& image, ProblemLog& log) {
  const std::string where = labels.string();
  const std::optional<ParsedJson> document = read_label_json(labels, "shapes", log, {pixels});
  if (!document) return;
  image.declared = json_size(*document, "imageWidth", "imageHeight");
  for (const ParsedJson& shape : json_member(*document, "shapes")) {
    if (auto box = parse_shape(shape, where, log)) image.boxes.push_back(std::move(*box));
  }
}

/// The image that a file of labels names, from the file's folder; it may have been renamed since, or never have been here.
fs::path image_path_of(const fs::path& file) {
  std::string name;
  try {
    name = json_text(read_json(file, {pixels}), "imagePath");
  } catch (const InputError&) {  // broken, and of no image
  }
  std::replace(name.begin(), name.end(), '\\', '/');
  return (file.parent_path() / name).lexically_normal();
}

/// The labels that no image has the name of, by the image that they name: by its path or, where there is none of this
/// path, by the name that only one image without labels has. The others are reported to `unused`, if it is given.
std::unordered_map<std::string, fs::path> match_by_image_path(const FolderFiles& files, ProblemLog* unused) {
  std::set<std::string> taken, lacking;
  std::unordered_map<std::string, std::vector<std::string>> by_name;
  for (const fs::path& image : files.images) {
    const LabelFile labels = labelme_labels(image);
    taken.insert(labels.path.string());
    if (labels.found) continue;
    lacking.insert(image.string());
    by_name[image.filename().string()].push_back(image.string());
  }
  std::unordered_map<std::string, fs::path> renamed;
  std::vector<std::pair<fs::path, fs::path>> elsewhere;  // and what they name
  const auto give = [&](const std::string& image, const fs::path& file) {
    const bool given = !image.empty() && renamed.emplace(image, file).second;
    if (!given && unused) unused->add(Kind::unused_labels, file.string(), "");
  };
  for (const fs::path& file : files.others) {
    if (taken.contains(file.string()) || !is_labelme(file)) continue;
    const fs::path named = image_path_of(file);
    if (lacking.contains(named.string())) {
      give(named.string(), file);
    } else {
      elsewhere.emplace_back(file, named);
    }
  }
  for (const auto& [file, named] : elsewhere) {
    const std::vector<std::string>& images = by_name[named.filename().string()];
    std::error_code failed;
    give(images.size() == 1 && !fs::exists(named, failed) ? images[0] : "", file);
  }
  return renamed;
}

/// The folders of listed images, with all their images: labels may be of one that is not listed.
FolderFiles files_beside(const std::vector<fs::path>& listed) {
  std::set<fs::path> folders;
  for (const fs::path& image : listed) folders.insert(image.parent_path());
  FolderFiles files;
  std::error_code failed;
  for (const fs::path& folder : folders) {
    for (const auto& entry : fs::directory_iterator(folder.empty() ? "." : folder, failed)) {
      const fs::path file = folder / entry.path().filename();
      if (is_image_name(file)) files.images.push_back(file);
      if (has_extension(file, ".json") && !is_clutter(file)) files.others.push_back(file);
    }
  }
  std::sort(files.others.begin(), files.others.end());
  return files;
}

/// `renamed`: labels that have another name than their image.
std::unique_ptr<LabelSource> labels_beside(std::vector<fs::path> images,
                                           std::unordered_map<std::string, fs::path> renamed) {
  const auto find = [renamed = std::move(renamed)](const fs::path& image) {
    const auto other = renamed.find(image.string());
    return other == renamed.end() ? labelme_labels(image) : find_label_file({other->second});
  };
  return std::make_unique<LabelsBesideImages>(std::move(images), find, read_shapes);
}

std::unique_ptr<LabelSource> open_labelme(const DataOptions& options, Split split, ProblemLog& log) {
  const fs::path place = split_place(options, split, {data_root(options)});
  std::error_code failed;
  if (!fs::is_directory(place, failed)) {
    std::vector<fs::path> images = read_image_list(place, options);
    const bool lack = std::any_of(images.begin(), images.end(),
                                  [](const fs::path& image) { return !labelme_labels(image).found; });
    std::unordered_map<std::string, fs::path> renamed;
    if (lack) renamed = match_by_image_path(files_beside(images), nullptr);
    return labels_beside(std::move(images), std::move(renamed));
  }
  FolderFiles files = files_below(place);
  report_unknown_endings(files, labelme_labels, log);
  auto renamed = match_by_image_path(files, &log);
  return labels_beside(std::move(files.images), std::move(renamed));
}

bool has_labelme_file(const fs::path& image, const fs::path& /*root*/) {
  const LabelFile labels = labelme_labels(image);
  return labels.found && is_labelme(labels.path);
}

std::string recognize_labelme(const fs::path& place, DataOptions& options) {
  if (!is_folder(place)) return "";
  const auto labelled = [&](const fs::path& image) { return has_labelme_file(image, place); };
  const auto good = [&](const fs::path& folder) { return any_image(folder, labelled); };
  const SplitTests tests{.train = good, .labelled = [](const fs::path& folder) {
                           return any_labelled(folder, labelme_places, is_labelme);
                         }};
  const std::vector<std::string> layouts{"*", "images/*"};
  if (take_splits(place, layouts, tests, options)) return "folders of images with LabelMe's JSON";
  if (!good(place)) return "";
  if (take_splits(place, layouts, tests.of_known_format(), options))
    return "folders of images with LabelMe's JSON";
  options.root = place.string();
  options.train = is_folder(place / "images") ? "images" : ".";
  return "a folder of images with LabelMe's JSON";
}

}  // namespace

DatasetFormat labelme_format() {
  return {.name = "labelme",
          .open = open_labelme,
          .recognize = recognize_labelme,
          .recognized_by = "a folder of images with LabelMe's .json beside them",
          .labelled = has_labelme_file,
          .label_files = "LabelMe's .json"};
}

}  // namespace brightnet
