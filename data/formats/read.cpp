#include "data/formats/read.h"

#include <algorithm>
#include <exception>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/files.h"
#include "data/formats/classes.h"
#include "data/formats/labels.h"
#include "data/formats/places.h"
#include "data/formats/policies.h"
#include "data/image/stored_file.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;
using Kind = DataProblem::Kind;

bool train_names(Split split, const DataOptions& options) {
  return options.format->train_names && options.format->train_names(split, options);
}

/// All names in the labels of train and val.
std::vector<std::string> names_in_labels(const DataOptions& options, ProblemLog& log) {
  ProblemLog met(true);  // reported when the split is read
  std::set<std::string> names;
  for (const Split split : {Split::train, Split::val}) {
    if (options.place(split).empty()) continue;
    const auto source = options.format->open(options, split, met);
    std::vector<std::vector<DataProblem>> problems(source->size());
#pragma omp parallel for schedule(dynamic, 16)
    for (size_t i = 0; i < problems.size(); ++i) {
      ProblemLog own(true);
      std::set<std::string> found;
      try {
        for (const LabelledBox& box : source->image(i, own).boxes) {
          if (!box.only_if_named) found.insert(box.class_name);
        }
      } catch (const std::exception& e) {  // none may leave the threads
        own.add(Kind::unreadable_labels, "", e.what());
      }
      problems[i] = own.problems();
#pragma omp critical
      names.merge(found);
    }
    for (const auto& of_image : problems) {
      for (const DataProblem& problem : of_image) met.add(problem.kind, problem.where, problem.detail);
    }
  }
  if (names.empty()) report_no_classes(options, met, log);
  return {names.begin(), names.end()};
}

ChosenClasses choose_classes(const LabelSource& source, const DataOptions& options, ProblemLog& log) {
  return {options, source.classes(), [&] { return names_in_labels(options, log); }};
}

std::optional<ImageRecord> read_record(const LabelSource& source, const ChosenClasses& classes, size_t index,
                                       uint64_t max_pixels, ProblemLog& log) {
  LabelledImage image = source.image(index, log);
  std::error_code failed;
  if (!fs::exists(image.file, failed) && !is_stored(image.file)) {
    // A file that exists may be inaccessible: its folder may lack the permission.
    if (failed) {
      log.add(Kind::undecodable_image, image.file.string(), failed.message());
    } else {
      log.add(Kind::missing_image, image.file.string(), "there is no such file");
    }
    return std::nullopt;
  }
  const auto info = image_info(image.file, max_pixels);
  const bool too_large = info && info->shown.width * static_cast<uint64_t>(info->shown.height) > max_pixels;
  // The end marker is cheap to read. Only a file without one is decoded, to see whether pixels are missing.
  if (!info || too_large || !has_end_mark(image.file)) {
    if (const auto problem = decoding_problem(image.file, max_pixels)) {
      log.add(problem->kind, problem->where, problem->detail);
      return std::nullopt;
    }
    BRIGHTNET_CHECK(info.has_value(), "an image that decodes has a size");
  }
  if (!image.missing_labels.empty()) log.add(Kind::no_label_file, image.file.string(), image.missing_labels);
  ImageRecord record;
  record.file = image.file;
  record.listed = image.listed;
  record.id = image.id.value_or(static_cast<int64_t>(index));
  record.width = info->shown.width;
  record.height = info->shown.height;
  for (const LabelledBox& box : image.boxes) {
    switch (box.outline) {
      case Outline::box: break;
      case Outline::rotated_box: log.add(Kind::rotated_box, box.where, ""); break;
      case Outline::polygon: log.add(Kind::polygon, box.where, ""); break;
    }
  }
  boxes_to_pixels(image, *info, log);
  record.annotations = annotations_of(image, classes, info->shown, log);
  return record;
}

struct Outcome {
  std::optional<ImageRecord> record;
  std::vector<DataProblem> problems;
  std::exception_ptr failure;
};

std::vector<Outcome> read_records(const LabelSource& source, const ChosenClasses& classes,
                                  uint64_t max_pixels, bool lenient) {
  std::vector<Outcome> outcomes(source.size());
#pragma omp parallel for schedule(dynamic, 16)
  for (size_t i = 0; i < outcomes.size(); ++i) {
    ProblemLog log(lenient);
    try {
      outcomes[i].record = read_record(source, classes, i, max_pixels, log);
    } catch (...) {
      outcomes[i].failure = std::current_exception();
    }
    outcomes[i].problems = log.problems();
  }
  return outcomes;
}

// A data set without an image, or without a single label file, is most likely a wrong path.
void check_not_empty(Dataset& dataset, const DataOptions& options, Split split, size_t listed, bool lenient) {
  const std::string name = fmt::format("data.{}", enum_name(split));
  const std::string where = (fs::path(options.root) / options.place(split)).string();
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
    std::erase_if(problems, unlabelled);  // one message instead of one per image
  }
  problems.insert(problems.end(), log.problems().begin(), log.problems().end());
}

/// Logs a problem where, of all that is labelled, nothing is left for training.
void check_any_chosen(Dataset& dataset, const DataOptions& options, bool lenient) {
  const auto empty = [](const ImageRecord& image) { return image.annotations.empty(); };
  if (!std::all_of(dataset.images.begin(), dataset.images.end(), empty)) return;
  std::vector<std::string> dropped;
  for (const DataProblem& problem : dataset.problems) {
    if (problem.kind == Kind::unmapped_class || problem.kind == Kind::unlisted_class)
      dropped.push_back(problem.detail);
  }
  if (dropped.empty()) return;
  ProblemLog log(lenient);
  log.add(Kind::unknown_class, (fs::path(options.root) / options.train).string(),
          fmt::format("no object is of a class that is trained on: all are dropped ({})",
                      fmt::join(dropped, "; ")),
          dataset.classes.empty() ? "No class is left: check data.map."
                                  : fmt::format("The classes are {}: check data.classes and data.map.",
                                                fmt::join(dataset.classes, ", ")));
  dataset.problems.insert(dataset.problems.end(), log.problems().begin(), log.problems().end());
}

/// Visits a map of classes. One without a value, as --set data.map.CLASS= gives it, is left out.
void visit_map(Fields& f, const char* key, std::map<std::string, std::string>& map, const char* doc) {
  f.custom(
      key,
      [&map, key](const YamlValue& value) {
        if (!value.node.IsMap())
          throw InputError(fmt::format("'{}' must map classes to classes", key), value.where(),
                           fmt::format("For example {}: {{van: car, lorry: truck}}", key));
        map.clear();
        for (const auto& entry : value.node) {
          const std::string& from = entry.first.Scalar();
          const std::string to =
              entry.second.IsNull() ? "" : yaml_as<std::string>({entry.second, value.file}, key, "a class");
          if (!map.emplace(from, to).second) {
            throw InputError(fmt::format("'{}' has the class '{}' twice", key, from),
                             YamlValue{entry.first, value.file}.where(), "Remove one of the two.");
          }
        }
      },
      [&map] {
        YAML::Node node(YAML::NodeType::Map);
        for (const auto& [from, to] : map) node[from] = to;
        return node;
      },
      doc);
}

/// Visits a key that holds a place or a list of places; a list is kept as lines.
void visit_places(Fields& f, const char* key, std::string& places, const char* doc) {
  f.custom(
      key,
      [&places, key](const YamlValue& value) {
        places = value.node.IsSequence()
                     ? fmt::format("{}", fmt::join(yaml_as<std::vector<std::string>>(value, key), "\n"))
                     : yaml_as<std::string>(value, key, "a text");
      },
      [&places] {
        const std::vector<std::string> all = listed_places(places);
        return all.size() > 1 ? YAML::Node(all) : YAML::Node(places);
      },
      doc);
}

}  // namespace

const std::string& DataOptions::place(Split split) const {
  switch (split) {
    case Split::train: break;
    case Split::val: return val;
    case Split::test: return test;
  }
  return train;
}

void DataOptions::fields(Fields& f) {
  const std::string doc = "format of the labels: " + dataset_formats_listed();
  std::string name = format->name;
  f.choice("format", name, dataset_format_names(), doc.c_str());
  format = &dataset_format(name);
  f("root", root, "folder that the relative paths below start from");
  visit_places(
      f, "train", train,
      "training images: a list file, image folder (yolo, voc: or a list of them), COCO JSON or obj.data, by format");
  visit_places(f, "val", val, "validation images, named in the same way");
  visit_places(f, "test", test,
               "images for `eval --split test`, named in the same way; never used in training");
  f.custom(
      "fold",
      [this](const YamlValue& value) {
        fold = parse_fold(yaml_as<std::string>(value, "fold"), value.where());
      },
      [this] { return YAML::Node(to_text(fold)); },
      "K/N: train and val are divided into N parts by content, and part K is validated; empty: as they are");
  f("fraction", fraction,
    "share of the training images to train on; the same ones in every run, and all of a smaller share in a larger one")
      .above(0)
      .at_most(1);
  f("classes", classes, "classes to train on, in the order of their outputs; empty: all of the data set");
  f("names", names,
    "yolo, darknet: the names of the ids in the labels; empty: the data set's own, or else classes");
  f("kpt_shape", kpt_shape,
    "yolo: [points, numbers of each] of the key points behind each box, which are not read; empty: as data.yaml says");
  visit_map(f, "map", map,
            "from classes in the labels to those to train on (without a value: left out); others stay");
  visit_map(f, "target_class_mapping", target_class_mapping,
            "the same as in TAO: the case does not matter, and other classes are left out");
  f("single_class", single_class, "train all classes as one, 'object'");
  f("include_difficult_in_training", include_difficult_in_training,
    "train on objects marked difficult (voc) or occluded (kitti)");
  f("max_pixels", max_pixels, "of an image; a larger one is skipped, without being decoded").within(1, 1e12);
  f("tiles", tiles, "for objects that are small in large pictures");
}

std::vector<Split> given_splits(const DataOptions& options) {
  std::vector<Split> splits{Split::train};
  for (const Split split : {Split::val, Split::test}) {
    if (!options.place(split).empty() || train_names(split, options)) splits.push_back(split);
  }
  return splits;
}

void check_place(const DataOptions& options, Split split) {
  if (split != Split::train && options.place(split).empty() && train_names(split, options)) return;
  const std::vector<std::string> places = listed_places(split_path(options, split));
  const fs::path root(options.root);
  std::error_code failed;
  if (!fs::is_directory(root, failed)) return;  // reported by data_root()
  // These are the folders that any of the formats searches.
  const std::vector<fs::path> folders{root, root / "ImageSets", root / "ImageSets/Main", "."};
  for (const std::string& path : places) {
    if (!fs::exists(find_below(path + ".txt", folders), failed))
      check_exists(find_below(path, folders), split);
  }
}

Dataset read_dataset(const DataOptions& options, Split split, bool lenient) {
  ProblemLog log(lenient);
  const auto source = options.format->open(options, split, log);
  const ChosenClasses classes = choose_classes(*source, options, log);
  Dataset dataset;
  dataset.classes = classes.names();
  dataset.problems = log.problems();
  for (Outcome& outcome : read_records(*source, classes, options.max_pixels, lenient)) {
    if (outcome.failure) std::rethrow_exception(outcome.failure);
    dataset.problems.insert(dataset.problems.end(), outcome.problems.begin(), outcome.problems.end());
    if (outcome.record) dataset.images.push_back(std::move(*outcome.record));
  }
  count_dropped(dataset.problems);
  if (split == Split::train && !options.include_difficult_in_training) {
    for (auto& image : dataset.images)
      std::erase_if(image.annotations, [](const Annotation& a) { return a.difficult; });
  }
  check_not_empty(dataset, options, split, source->size(), lenient);
  if (split == Split::train) check_any_chosen(dataset, options, lenient);
  return dataset;
}

std::vector<std::string> read_class_names(const DataOptions& options) {
  if (const auto known = known_classes(options)) return *known;
  ProblemLog log(true);  // reported when the split is read
  const auto source = options.format->open(options, Split::train, log);
  return choose_classes(*source, options, log).names();
}

std::optional<DataProblem> decoding_problem(const fs::path& file, uint64_t max_pixels,
                                            const std::function<void(const cv::Mat&)>& use) {
  try {
    const cv::Mat image = read_image(file, {}, 3, max_pixels);
    if (use) use(image);
    return std::nullopt;
  } catch (const ImageError& e) {
    std::error_code failed;
    const bool missing = e.kind() == ImageError::Kind::missing && !fs::exists(file, failed);
    const Kind kind = missing                                   ? Kind::missing_image
                      : e.kind() == ImageError::Kind::too_large ? Kind::too_large_image
                      : e.kind() == ImageError::Kind::truncated ? Kind::truncated_image
                                                                : Kind::undecodable_image;
    return DataProblem{kind, file.string(), e.detail()};
  }
}

}  // namespace brightnet
