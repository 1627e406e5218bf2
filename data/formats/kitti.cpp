// KITTI's object labels, as NVIDIA's TAO reads them: for each image a .txt with one object a line,
//
//   type truncated occluded alpha x1 y1 x2 y2 height width length X Y Z rotation [score]
//
// of which type, occluded and the box (pixels from 0, by corners) are used; a line needs these first eight.
//
// A label file is looked for in the folder beside the image's (the last image_2, image_3, images or image of
// the path replaced by label_2, label_3, labels or label) and then beside the image.
//
//   data.target_class_mapping   is TAO's: maps types to classes, ignoring case. Types that it does not
//                               name are dropped and counted.
//   DontCare                    marks unlabelled regions: ignored, unless it is mapped or listed.
//   occluded                    1 to 3 make the object difficult (data.include_difficult_in_training).
//   truncated                   is ignored, as in TAO: boxes are clipped to the image.
//
// data.train, data.val or data.test is a folder of images (image_2, training/image_2, …) or a file that lists
// images, one a line: paths, or bare names that are looked for below data.root in training/image_2, image_2
// and images. Without data.classes the classes are the mapping's values, or without a mapping all types in
// train and val; sorted.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "data/formats/folder.h"
#include "data/formats/format.h"
#include "data/formats/labels.h"
#include "data/formats/places.h"
#include "data/image/read_image.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;
using Kind = DataProblem::Kind;

constexpr std::string_view not_labelled = "dontcare";

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

LabelFile label_file(const fs::path& image) {
  static constexpr FolderPair folders[] = {
      {"image_2", "label_2"}, {"image_3", "label_3"}, {"images", "labels"}, {"image", "label"}};
  fs::path beside = image;
  beside.replace_extension(".txt");
  return find_label_file({parallel_label(image, folders), beside});
}

/// Maps the object types in the labels to classes.
class TypeMapping {
 public:
  TypeMapping(const std::map<std::string, std::string>& mapping, ClassNames classes)
      : classes_(std::move(classes)) {
    for (const auto& [type, name] : mapping) names_[lower(type)] = name;
  }

  const ClassNames& classes() const { return classes_; }

  /// The class of a type; nullopt if it has none.
  std::optional<int> find(const std::string& type, const std::string& where, ProblemLog& log) const {
    const auto& names = classes_.names();
    const bool listed = std::find(names.begin(), names.end(), type) != names.end();
    if (names_.empty())
      return lower(type) == not_labelled && !listed ? std::nullopt : classes_.find(type, where, log);
    const auto mapped = names_.find(lower(type));
    if (mapped != names_.end()) return classes_.find(mapped->second, where, log);
    if (lower(type) != not_labelled)
      log.add(Kind::unmapped_class, where, "'" + type + "' is not in data.target_class_mapping");
    return std::nullopt;
  }

 private:
  std::map<std::string, std::string> names_;  // by type, in lower case
  ClassNames classes_;
};

class KittiLabels : public LabelSource {
 public:
  KittiLabels(std::vector<fs::path> images, TypeMapping types)
      : images_(std::move(images)), types_(std::move(types)) {}

  const std::vector<std::string>& classes() const override { return types_.classes().names(); }
  size_t size() const override { return images_.size(); }

  LabelledImage image(size_t index, ProblemLog& log) const override {
    LabelledImage out;
    out.file = images_[index];
    const LabelFile labels = label_file(out.file);
    if (!has_labels(labels, out, log)) return out;
    for (const TextLine& line : read_lines(labels.path)) {
      if (auto box = parse_line(line.text, at_line(labels.path, line.number), log))
        out.boxes.push_back(std::move(*box));
    }
    return out;
  }

 private:
  std::optional<LabelledBox> parse_line(const std::string& line, const std::string& where,
                                        ProblemLog& log) const {
    constexpr size_t needed = 8;
    const std::vector<std::string_view> fields = words(line);
    if (fields.size() < needed) {
      log.add(Kind::malformed_label, where,
              fmt::format("a line of KITTI's labels has 15 fields, and this one has {}", fields.size()),
              "Check the data's format.");
      return std::nullopt;
    }
    double values[needed] = {};
    for (size_t i = 1; i < needed; ++i) {
      const auto value = parse_number(fields[i]);
      if (!value) {
        log.add(Kind::malformed_label, where,
                fmt::format("field {} is '{}' and must be a number", i + 1, fields[i]),
                "Check the data's format.");
        return std::nullopt;
      }
      values[i] = *value;
    }
    const auto id = types_.find(std::string(fields[0]), where, log);
    if (!id) return std::nullopt;
    LabelledBox box;
    box.class_id = *id;
    box.where = where;
    box.difficult = values[2] != 0;
    box.x1 = values[4];
    box.y1 = values[5];
    box.x2 = values[6];
    box.y2 = values[7];
    box.empty = !(box.x2 > box.x1 && box.y2 > box.y1);
    return box;
  }

  std::vector<fs::path> images_;
  TypeMapping types_;
};

/// The image for a bare name in a list: "000123".
fs::path find_image(const std::string& name, const fs::path& root) {
  std::error_code failed;
  for (const char* folder : {"training/image_2", "image_2", "images"}) {
    for (const char* ending : {".png", ".jpg", ".jpeg"}) {
      const fs::path candidate = root / folder / (name + ending);
      if (fs::exists(candidate, failed)) return candidate;
    }
  }
  return root / "image_2" / (name + ".png");
}

std::vector<fs::path> find_images(const DataOptions& options, Split split, ProblemLog& log) {
  const fs::path root = data_root(options);
  const fs::path path = split_place(options, split, {root, root / "ImageSets"});
  std::error_code failed;
  if (fs::is_directory(path, failed)) {
    FolderFiles files = files_below(path);
    report_unknown_endings(files, label_file, log);
    return std::move(files.images);
  }
  std::vector<fs::path> images = read_image_list(path, options);
  for (fs::path& image : images) {
    if (!is_image_name(image)) image = find_image(image.filename().string(), root);
  }
  return images;
}

ClassNames class_names(const DataOptions& options, ProblemLog& log) {
  if (!options.classes.empty()) {
    ClassNames classes(options.classes, "data.classes");
    for (const auto& [type, name] : options.target_class_mapping) {
      if (std::find(options.classes.begin(), options.classes.end(), name) != options.classes.end()) continue;
      throw InputError(
          "data.target_class_mapping makes '" + type + "' the class '" + name +
              "', which is not in data.classes",
          "", "List it there, or leave data.classes out: then the mapping's values are the classes.");
    }
    return classes;
  }
  std::set<std::string> names;
  ProblemLog problems(true);  // reported when the split is read
  for (const auto& [type, name] : options.target_class_mapping) names.insert(name);
  for (const Split split : {Split::train, Split::val}) {
    const bool given = !options.place(split).empty();
    if (!options.target_class_mapping.empty() || !given) continue;
    for (const fs::path& image : find_images(options, split, problems)) {
      const LabelFile labels = label_file(image);
      LabelledImage unused;
      if (!has_labels(labels, unused, problems)) continue;
      for (const TextLine& line : read_lines(labels.path)) {
        const std::string type(words(line.text)[0]);
        if (lower(type) != not_labelled) names.insert(type);
      }
    }
  }
  if (names.empty()) report_no_classes(options, problems, log);
  return ClassNames({names.begin(), names.end()}, options.root);
}

std::unique_ptr<LabelSource> open_kitti(const DataOptions& options, Split split, ProblemLog& log) {
  std::vector<fs::path> images = find_images(options, split, log);
  return std::make_unique<KittiLabels>(std::move(images),
                                       TypeMapping(options.target_class_mapping, class_names(options, log)));
}

std::string recognize_kitti(const fs::path& place, DataOptions& options) {
  for (const fs::path folder : {"", "training"}) {
    if (!fs::is_directory(place / folder / "image_2") || !fs::is_directory(place / folder / "label_2"))
      continue;
    options.root = place.string();
    options.train = (folder / "image_2").string();
    return "a KITTI folder";
  }
  return "";
}

}  // namespace

DatasetFormat kitti_format() {
  return {.name = "kitti",
          .open = open_kitti,
          .maps_classes = true,
          .recognize = recognize_kitti,
          .recognized_by = "a KITTI folder (image_2/ and label_2/, or both below training/)"};
}

}  // namespace brightnet
