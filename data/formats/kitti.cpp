// KITTI's object labels, as NVIDIA's TAO reads them: for each image a .txt with one object a line,
//
//   type truncated occluded alpha x1 y1 x2 y2 height width length X Y Z rotation [score]
//
// of which type, occluded and the box (pixels from 0, by corners) are used; a line needs these first eight.
//
// A label file is looked for in the folder beside the image's (the last image_2, image_3, images or image of
// the path replaced by label_2, label_3, labels or label) and then beside the image.
//
//   DontCare                    marks unlabelled regions: ignored, unless data.classes or data.target_class_mapping names it.
//   occluded                    1 to 3 make the object difficult (data.include_difficult_in_training).
//   truncated                   is ignored, as in TAO: boxes are clipped to the image.
//
// data.train, data.val or data.test is a folder of images (image_2, training/image_2, …) or a file that lists
// images, one a line: paths, or bare names that are looked for below data.root in training/image_2, image_2
// and images. The classes are all types in train and val.
#include <fmt/format.h>

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

LabelFile kitti_labels(const fs::path& image) {
  static constexpr FolderPair folders[] = {
      {"image_2", "label_2"}, {"image_3", "label_3"}, {"images", "labels"}, {"image", "label"}};
  fs::path beside = image;
  beside.replace_extension(".txt");
  return find_label_file({parallel_label(image, folders), beside});
}

std::optional<LabelledBox> parse_line(const std::string& line, const std::string& where, ProblemLog& log) {
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
  LabelledBox box;
  box.class_name = fields[0];
  box.only_if_named = lower_case(box.class_name) == not_labelled;
  box.where = where;
  box.difficult = values[2] != 0;
  box.set_corners(values[4], values[5], values[6], values[7]);
  return box;
}

void read_labels(const fs::path& labels, LabelledImage& image, ProblemLog& log) {
  for (const TextLine& line : read_lines(labels)) {
    if (auto box = parse_line(line.text, at_line(labels, line.number), log))
      image.boxes.push_back(std::move(*box));
  }
}

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
    report_unknown_endings(files, kitti_labels, log);
    return std::move(files.images);
  }
  std::vector<fs::path> images = read_image_list(path, options);
  for (fs::path& image : images) {
    if (!is_image_name(image)) image = find_image(image.filename().string(), root);
  }
  return images;
}

std::unique_ptr<LabelSource> open_kitti(const DataOptions& options, Split split, ProblemLog& log) {
  return std::make_unique<LabelsBesideImages>(find_images(options, split, log), kitti_labels, read_labels);
}

std::string recognize_kitti(const fs::path& place, DataOptions& options) {
  for (const fs::path folder : {"", "training"}) {
    if (!is_folder(place / folder / "image_2") || !is_folder(place / folder / "label_2")) continue;
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
          .recognize = recognize_kitti,
          .recognized_by = "a KITTI folder (image_2/ and label_2/, or both below training/)"};
}

}  // namespace brightnet
