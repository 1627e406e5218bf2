#include "data/dataset.h"

#include <algorithm>
#include <array>
#include <exception>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "data/formats/coco.h"
#include "data/formats/darknet.h"
#include "data/formats/kitti.h"
#include "data/formats/labels.h"
#include "data/formats/voc.h"
#include "data/formats/yolo.h"
#include "data/image/read_image.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;
using Kind = DataProblem::Kind;

struct KindText {
  Kind kind;
  const char* name;
  const char* one;   ///< "1 …"
  const char* many;  ///< "12 …"
  const char* done;  ///< what was done about it
  bool detailed;     ///< the names alone do not say enough
};

constexpr const char* stops = "which stops the training";

constexpr std::array<KindText, 19> kind_texts{{
    {Kind::no_images, "no_images", "split has no image", "splits have no image", stops, true},
    {Kind::no_labels, "no_labels", "split has no labels", "splits have no labels", stops, true},
    {Kind::no_classes, "no_classes", "split has no classes", "splits have no classes", stops, true},
    {Kind::missing_image, "missing_image", "listed image is missing", "listed images are missing", "skipped",
     false},
    {Kind::undecodable_image, "undecodable_image", "image cannot be decoded", "images cannot be decoded",
     "skipped", true},
    {Kind::truncated_image, "truncated_image", "image is truncated or damaged",
     "images are truncated or damaged", "skipped", false},
    {Kind::unknown_ending, "unknown_ending", "labelled file has an ending that is no image's",
     "labelled files have endings that are no image's", "not read", false},
    {Kind::no_label_file, "no_label_file", "image has no label file", "images have no label file",
     "kept as background", false},
    {Kind::unreadable_labels, "unreadable_labels", "label file cannot be read", "label files cannot be read",
     stops, true},
    {Kind::unused_labels, "unused_labels", "label file belongs to no image", "label files belong to no image",
     "not used", false},
    {Kind::zero_area_box, "zero_area_box", "box has no area", "boxes have no area", "dropped", false},
    {Kind::outside_box, "outside_box", "box reaches outside its image", "boxes reach outside their images",
     "clipped, or dropped where nothing is left", false},
    {Kind::unknown_class, "unknown_class", "label has an unknown class", "labels have an unknown class",
     stops, true},
    {Kind::unmapped_class, "unmapped_class", "label is not in data.target_class_mapping",
     "labels are not in data.target_class_mapping", "dropped", true},
    {Kind::malformed_label, "malformed_label", "label is malformed", "labels are malformed", stops, true},
    {Kind::triangle, "triangle", "line of 7 numbers could be a box with a score and an id",
     "lines of 7 numbers could be boxes with scores and ids", "read as a class and three points", false},
    {Kind::duplicate_box, "duplicate_box", "box is there twice", "boxes are there twice", "kept once", false},
    {Kind::turned_boxes, "turned_boxes", "image is labelled as it was before its EXIF rotation",
     "images are labelled as they were before their EXIF rotation", "boxes turned with the image", false},
    {Kind::other_size, "other_size", "image has another size than its labels claim",
     "images have another size than their labels claim", "boxes taken as pixels of the image as it is", true},
}};

const KindText& text_of(Kind kind) {
  return *std::find_if(kind_texts.begin(), kind_texts.end(),
                       [&](const KindText& t) { return t.kind == kind; });
}

const std::vector<std::string>& data_formats() {
  static const std::vector<std::string> formats{"yolo", "voc", "coco", "darknet", "kitti"};
  return formats;
}

std::unique_ptr<LabelSource> open_source(const DataOptions& options, Split split, ProblemLog& log) {
  if (!options.target_class_mapping.empty() && options.format != "kitti") {
    throw InputError(
        "data.target_class_mapping belongs to data.format: kitti, and the format is " + options.format, "",
        "Leave it out; data.classes names the classes.");
  }
  if (options.format == "yolo") return open_yolo(options, split, log);
  if (options.format == "voc") return open_voc(options, split, log);
  if (options.format == "coco") return open_coco(options, split, log);
  if (options.format == "darknet") return open_darknet(options, split, log);
  if (options.format == "kitti") return open_kitti(options, split, log);
  const std::string nearest = nearest_word(options.format, data_formats());
  throw InputError("data.format is '" + options.format + "' and must be yolo, voc, coco, darknet or kitti",
                   "", nearest.empty() ? "" : "Did you mean '" + nearest + "'?");
}

// The corners in the image as it is shown, for a box drawn on the pixels as they are stored.
void turn(LabelledBox& box, cv::Size shown, int orientation) {
  const double stored_width = shown.height, stored_height = shown.width;
  const auto place = [&](double& x, double& y) {
    const double right = stored_width - x, bottom = stored_height - y;
    const auto [new_x, new_y] = orientation == 5   ? std::pair(y, x)
                                : orientation == 6 ? std::pair(bottom, x)
                                : orientation == 7 ? std::pair(bottom, right)
                                                   : std::pair(y, right);
    x = new_x;
    y = new_y;
  };
  place(box.x1, box.y1);
  place(box.x2, box.y2);
  if (box.x1 > box.x2) std::swap(box.x1, box.x2);
  if (box.y1 > box.y2) std::swap(box.y1, box.y2);
}

std::string numbers(const LabelledBox& box) {
  char text[128];
  std::snprintf(text, sizeof text, "%.6g %.6g to %.6g %.6g", box.x1, box.y1, box.x2, box.y2);
  return text;
}

// Brings the boxes into pixels of the image as it is shown.
void to_pixels(LabelledImage& image, const ImageInfo& info, ProblemLog& log) {
  if (image.relative) {
    for (auto& box : image.boxes) {
      box.x1 *= info.shown.width;
      box.x2 *= info.shown.width;
      box.y1 *= info.shown.height;
      box.y2 *= info.shown.height;
    }
    return;
  }
  if (image.declared.empty() || image.declared == info.shown) return;
  const bool as_stored =
      info.orientation >= 5 && image.declared == cv::Size(info.shown.height, info.shown.width);
  if (as_stored) {
    for (auto& box : image.boxes) turn(box, info.shown, info.orientation);
    log.add(Kind::turned_boxes, image.file.string(), "EXIF orientation " + std::to_string(info.orientation));
    return;
  }
  const auto size = [](cv::Size s) { return std::to_string(s.width) + 'x' + std::to_string(s.height); };
  log.add(Kind::other_size, image.file.string(), size(info.shown) + " instead of " + size(image.declared));
}

// Zero-area boxes are dropped, the rest is clipped, the same object is kept once.
std::vector<Annotation> apply_policies(const LabelledImage& image, cv::Size size, ProblemLog& log) {
  constexpr double rounding = 1.0;        // pixels that a writer's rounding may add; clipped without a word
  constexpr double smallest_side = 0.01;  // pixels
  std::vector<Annotation> annotations;
  std::set<std::tuple<int, bool, double, double, double, double>> seen;
  for (const auto& box : image.boxes) {
    if (box.empty || box.x2 - box.x1 < smallest_side || box.y2 - box.y1 < smallest_side) {
      log.add(Kind::zero_area_box, box.where,
              box.empty ? "its end does not lie after its start" : numbers(box));
      continue;
    }
    if (!seen.insert({box.class_id, box.crowd, box.x1, box.y1, box.x2, box.y2}).second) {
      log.add(Kind::duplicate_box, box.where, numbers(box));
      continue;
    }
    Annotation a;
    a.x1 = static_cast<float>(std::clamp<double>(box.x1, 0, size.width));
    a.y1 = static_cast<float>(std::clamp<double>(box.y1, 0, size.height));
    a.x2 = static_cast<float>(std::clamp<double>(box.x2, 0, size.width));
    a.y2 = static_cast<float>(std::clamp<double>(box.y2, 0, size.height));
    a.class_id = box.class_id;
    a.crowd = box.crowd;
    a.difficult = box.difficult;
    a.area = static_cast<float>(box.area.value_or(double{a.x2 - a.x1} * (a.y2 - a.y1)));
    const double overhang = std::max({-box.x1, -box.y1, box.x2 - size.width, box.y2 - size.height});
    const bool gone = a.x2 - a.x1 < smallest_side || a.y2 - a.y1 < smallest_side;
    if (overhang > rounding || gone) {
      log.add(Kind::outside_box, box.where,
              numbers(box) + " in " + std::to_string(size.width) + 'x' + std::to_string(size.height) +
                  (gone ? ", dropped" : ", clipped"));
    }
    if (!gone) annotations.push_back(a);
  }
  return annotations;
}

std::optional<ImageRecord> read_record(const LabelSource& source, size_t index, ProblemLog& log) {
  LabelledImage image = source.image(index, log);
  std::error_code failed;
  if (!fs::exists(image.file, failed)) {
    // Not every file that cannot be looked at is missing: a folder may lack the permission.
    if (failed) {
      log.add(Kind::undecodable_image, image.file.string(), failed.message());
    } else {
      log.add(Kind::missing_image, image.file.string(), "there is no such file");
    }
    return std::nullopt;
  }
  const auto info = image_info(image.file);
  // The end mark is a few bytes to read, and only who lacks it is decoded to see whether pixels are missing.
  if (!info || !has_end_mark(image.file)) {
    if (const auto problem = decoding_problem(image.file)) {
      log.add(problem->kind, problem->where, problem->detail);
      return std::nullopt;
    }
    BRIGHTNET_CHECK(info.has_value(), "an image that decodes has a size");
  }
  if (!image.missing_labels.empty()) log.add(Kind::no_label_file, image.file.string(), image.missing_labels);
  ImageRecord record;
  record.file = image.file;
  record.id = image.id.value_or(static_cast<int64_t>(index));
  record.width = info->shown.width;
  record.height = info->shown.height;
  to_pixels(image, *info, log);
  record.annotations = apply_policies(image, info->shown, log);
  return record;
}

struct Outcome {
  std::optional<ImageRecord> record;
  std::vector<DataProblem> problems;
  std::exception_ptr failure;
};

std::vector<Outcome> read_records(const LabelSource& source, bool lenient) {
  std::vector<Outcome> outcomes(source.size());
#pragma omp parallel for schedule(dynamic, 16)
  for (size_t i = 0; i < outcomes.size(); ++i) {
    ProblemLog log(lenient);
    try {
      outcomes[i].record = read_record(source, i, log);
    } catch (...) {
      outcomes[i].failure = std::current_exception();
    }
    outcomes[i].problems = log.problems();
  }
  return outcomes;
}

// A data set without an image, or without a single label file, is a wrong path and not a data set.
void check_not_empty(Dataset& dataset, const DataOptions& options, Split split, size_t listed, bool lenient) {
  const std::string name = std::string("data.") + split_name(split);
  const std::string where =
      (fs::path(options.root) / (split == Split::train ? options.train : options.val)).string();
  auto& problems = dataset.problems;
  ProblemLog log(lenient);
  if (listed == 0) {
    log.add(Kind::no_images, where, name + " lists no images", "Check data.root and " + name + '.');
  } else if (dataset.images.empty()) {
    log.add(Kind::no_images, where,
            listed == 1 ? "the only image of " + name + " cannot be used"
                        : fmt::format("none of the {} images of {} can be used", listed, name),
            summarize(problems));
  } else {
    const auto unlabelled = [](const DataProblem& p) { return p.kind == Kind::no_label_file; };
    if (std::count_if(problems.begin(), problems.end(), unlabelled) != std::ssize(dataset.images)) return;
    const std::string looked = std::find_if(problems.begin(), problems.end(), unlabelled)->detail;
    const size_t images = dataset.images.size();
    log.add(Kind::no_labels, where,
            images == 1
                ? "the only image has no label file: it was looked for at " + looked
                : fmt::format("none of the {} images has a label file: the first was looked for at {}",
                              images, looked),
            "Check " + name + " and where the labels are.");
    std::erase_if(problems, unlabelled);  // one thing to say, not as many as there are images
  }
  problems.insert(problems.end(), log.problems().begin(), log.problems().end());
}

}  // namespace

void DataOptions::fields(Fields& f) {
  f.choice("format", format, data_formats(), "of the labels: yolo, voc, coco, darknet or kitti");
  f("root", root, "folder that the paths below start from");
  f("train", train, "list file, image folder, COCO JSON or obj.data, by format");
  f("val", val, "the same for the images that the accuracy is measured on");
  f("classes", classes, "names in the order of their ids; empty: as the data set names them");
  f.custom(
      "target_class_mapping",
      [this](const YamlValue& value) {
        target_class_mapping = yaml_as<std::map<std::string, std::string>>(value, "target_class_mapping");
      },
      [this] {
        YAML::Node node(YAML::NodeType::Map);
        for (const auto& [type, name] : target_class_mapping) node[type] = name;
        return node;
      },
      "kitti: from what labels say to classes; the rest is dropped");
  f("include_difficult_in_training", include_difficult_in_training,
    "train on objects marked difficult (voc) or occluded (kitti)");
}

const char* problem_name(Kind kind) {
  return text_of(kind).name;
}

bool stops_training(Kind kind) {
  return std::string_view(text_of(kind).done) == stops;
}

std::optional<DataProblem> decoding_problem(const fs::path& file) {
  try {
    read_image(file);
    return std::nullopt;
  } catch (const ImageError& e) {
    std::error_code failed;
    const bool missing = e.kind() == ImageError::Kind::missing && !fs::exists(file, failed);
    const Kind kind = missing                                   ? Kind::missing_image
                      : e.kind() == ImageError::Kind::truncated ? Kind::truncated_image
                                                                : Kind::undecodable_image;
    return DataProblem{kind, file.string(), e.detail()};
  }
}

void check_place(const DataOptions& options, Split split) {
  // An obj.data has the lists of both splits.
  if (options.format == "darknet" && split == Split::val && options.val.empty()) return;
  const std::string path = split_path(options, split);
  const fs::path root(options.root);
  std::error_code failed;
  if (!fs::is_directory(root, failed)) return;  // said by data_root()
  // Wherever one of the formats looks for it.
  const std::vector<fs::path> folders{root, root / "ImageSets", root / "ImageSets/Main", "."};
  if (!fs::exists(find_below(path + ".txt", folders), failed)) check_exists(find_below(path, folders), split);
}

Dataset read_dataset(const DataOptions& options, Split split, bool lenient) {
  ProblemLog log(lenient);
  const auto source = open_source(options, split, log);
  Dataset dataset;
  dataset.classes = source->classes();
  dataset.problems = log.problems();
  for (Outcome& outcome : read_records(*source, lenient)) {
    if (outcome.failure) std::rethrow_exception(outcome.failure);
    dataset.problems.insert(dataset.problems.end(), outcome.problems.begin(), outcome.problems.end());
    if (outcome.record) dataset.images.push_back(std::move(*outcome.record));
  }
  if (split == Split::train && !options.include_difficult_in_training) {
    for (auto& image : dataset.images)
      std::erase_if(image.annotations, [](const Annotation& a) { return a.difficult; });
  }
  check_not_empty(dataset, options, split, source->size(), lenient);
  return dataset;
}

std::string summarize(const std::vector<DataProblem>& problems) {
  constexpr size_t named = 3;
  std::string text;
  for (const KindText& kind : kind_texts) {
    size_t count = 0;
    std::string names;
    for (const auto& problem : problems) {
      if (problem.kind != kind.kind || ++count > named) continue;
      names += (count > 1 ? ", " : "") + problem.where;
      if (kind.detailed) names += " (" + problem.detail + ')';
    }
    if (count == 0) continue;
    if (!text.empty()) text += '\n';
    text += fmt::format("{}, {}: {}", counted(count, kind.one, kind.many), kind.done, names);
    if (count > named) text += fmt::format(" and {} more", count - named);
  }
  return text;
}

}  // namespace brightnet
