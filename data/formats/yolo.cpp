#include "data/formats/yolo.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/config.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "data/formats/folder.h"
#include "data/formats/format.h"
#include "data/formats/layout.h"
#include "data/formats/places.h"
#include "data/formats/yolo_names.h"
#include "data/image/read_image.h"
#include "data/image/stored_file.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;
using Kind = DataProblem::Kind;

std::vector<fs::path> own_label_places(const fs::path& image) {
  fs::path beside = image;
  beside.replace_extension(".txt");
  return {parallel_label(image), beside};
}

// The numbers of a line; empty when one of them is not a number.
std::vector<double> numbers_of(std::string_view line) {
  std::vector<double> values;
  for (const std::string_view word : words(line)) {
    const auto value = parse_number(word);
    if (!value) return {};
    values.push_back(*value);
  }
  return values;
}

/// `key_points`: how many numbers of key points stand behind a box.
std::optional<LabelledBox> parse_line(const std::string& text, const std::string& where,
                                      const ClassNames& classes, size_t key_points, ProblemLog& log) {
  const auto malformed = [&](const std::string& detail, const std::string& remedy) {
    log.add(Kind::malformed_label, where, detail, remedy);
    return std::nullopt;
  };
  std::vector<double> values = numbers_of(text);
  if (key_points > 0) {
    if (values.size() != 5 && values.size() != 5 + key_points) {
      return malformed(fmt::format("'{}' is not 'class x y width height' and {} numbers of key points",
                                   text.substr(0, 80), key_points),
                       "Correct kpt_shape in the data set's YAML (data.kpt_shape), or the line.");
    }
    values.resize(5);
  }
  const bool polygon = values.size() >= 7 && values.size() % 2 == 1;
  if (values.size() != 5 && !polygon) {
    return malformed(fmt::format("'{}' is not 'class x y width height'", text.substr(0, 80)),
                     values.size() == 6
                         ? "A box with a score or an id is a detection: write the labels without them."
                         : "Five numbers with decimal points are expected, separated by spaces.");
  }
  // A box may extend beyond the image, but not by an image's size: such values are pixels.
  const bool fractions =
      std::all_of(values.begin() + 1, values.end(), [](double v) { return v > -1 && v < 2; });
  if (!fractions && values.size() == 7) {
    return malformed(fmt::format("the points of '{}' are not fractions of the image", text.substr(0, 80)),
                     "Seven numbers are a class and three points. A box with a score and an id is a "
                     "detection: write labels without them.");
  }
  if (!fractions) {
    return malformed("the coordinates are not fractions of the image",
                     "Divide x and width by the image's width, y and height by its height.");
  }
  const std::string* name = classes.find(values[0], where, log);
  if (!name) return std::nullopt;
  LabelledBox box;
  box.class_name = *name;
  box.where = where;
  if (polygon) {
    if (values.size() == 7) log.add(Kind::triangle, where, text);
    std::vector<cv::Point2d> points;
    for (size_t i = 1; i + 1 < values.size(); i += 2) points.emplace_back(values[i], values[i + 1]);
    box.enclose(points);
  } else {
    const double half_width = values[3] / 2, half_height = values[4] / 2;
    box.set_corners(values[1] - half_width, values[2] - half_height, values[1] + half_width,
                    values[2] + half_height);
  }
  return box;
}

/// The lines of a label file, which may lie in an archive.
std::vector<TextLine> label_lines(const fs::path& file) {
  if (archive_of(file).empty()) return read_lines(file);
  const std::vector<uint8_t> bytes = read_stored(file, 0, most_text_bytes);
  return lines_of({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

/// The first non-blank line; none in a file without any.
std::optional<std::string> first_text_line(const fs::path& file) {
  if (!archive_of(file).empty()) {
    const std::vector<TextLine> lines = label_lines(file);
    return lines.empty() ? std::nullopt : std::optional(lines[0].text);
  }
  std::ifstream in = open_regular(file);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
    if (!trimmed(line).empty()) return line;
  }
  return std::nullopt;
}

/// Whether the first non-blank line is a label.
bool holds_labels(const fs::path& file) {
  const auto line = first_text_line(file);
  return line && numbers_of(*line).size() >= 5;
}

/// Whether an image has a text of labels, or an empty one as of background, and not its caption.
bool has_yolo_file(const fs::path& image, const fs::path& /*root*/) {
  const LabelFile labels = own_labels(image);
  return labels.found && labels.unreadable.empty() &&
         (holds_labels(labels.path) || !first_text_line(labels.path));
}

/// The images of an archive, in its order. Labels without an image are reported.
std::vector<fs::path> images_of_archive(const fs::path& archive, ProblemLog& log) {
  std::vector<fs::path> images, labels;
  for (const TarMember& member : tar_members(archive)) {
    const fs::path name = member.name, file = archive / name;
    if (std::any_of(name.begin(), name.end(), is_clutter)) continue;  // as in folders
    if (is_image_name(file)) images.push_back(file);
    if (has_extension(file, ".txt")) labels.push_back(file);
  }
  std::unordered_set<std::string> used;
  for (const fs::path& image : images) used.insert(own_labels(image).path.string());
  for (const fs::path& file : labels) {
    if (!used.contains(file.string()) && holds_labels(file)) log.add(Kind::unused_labels, file.string(), "");
  }
  return images;
}

/// Whether a folder has archives of its own, of images with labels.
bool holds_archives(const fs::path& folder) {
  const std::vector<fs::path> archives = files_in(folder, is_tar_name);
  if (archives.empty()) return false;
  ProblemLog ignored(true);
  const std::vector<fs::path> images = images_of_archive(archives[0], ignored);
  return std::any_of(images.begin(), images.end(),
                     [](const fs::path& image) { return own_labels(image).found; });
}

// Reports unused labels, whose image is missing, renamed or has another extension. Searches the folder and
// the parallel folders of it and its subfolders.
void report_unused_labels(const fs::path& folder, const FolderFiles& files, ProblemLog& log) {
  std::unordered_set<std::string> used;  // label files without ".txt"
  std::map<fs::path, fs::path> parallel;
  const auto parallel_folder = [&](const fs::path& of) {
    const auto [at, added] = parallel.try_emplace(of);
    if (added) at->second = parallel_label(of / "x").parent_path();
    return at->second;
  };
  const auto use = [&](const fs::path& file) {
    const fs::path stem = file.stem();
    used.insert((file.parent_path() / stem).string());
    used.insert((parallel_folder(file.parent_path()) / stem).string());
  };
  std::set<fs::path> labels;
  for (const auto& image : files.images) use(image);
  for (const auto& file : files.others) {
    parallel_folder(file.parent_path());
    if (has_extension(file, ".txt")) labels.insert(file);
    if (!is_label_name(file)) use(file);  // reported by its extension
  }
  parallel_folder(folder.lexically_normal());
  for (const auto& [of, place] : parallel) {
    std::error_code failed;
    if (place.empty()) continue;
    for (const auto& entry : fs::directory_iterator(place, failed)) {
      if (has_extension(entry.path(), ".txt")) labels.insert(entry.path().lexically_normal());
    }
  }
  for (const auto& file : labels) {
    if (used.contains((file.parent_path() / file.stem()).string()) || !holds_labels(file)) continue;
    log.add(Kind::unused_labels, file.string(), "");
  }
}

void read_labels(const fs::path& labels, const YoloNames& names, size_t key_points, LabelledImage& image,
                 ProblemLog& log) {
  image.relative = true;
  const ClassNames& ids = names.of(image.file);
  for (const TextLine& line : label_lines(labels)) {
    auto box = parse_line(line.text, at_line(labels, line.number), ids, key_points, log);
    if (box && names.knows(*box, image.file, log)) image.boxes.push_back(std::move(*box));
  }
}

/// data.kpt_shape, or else what the YAML in the root says, where the names are its own too.
size_t key_points_of(const DataOptions& options) {
  if (!options.kpt_shape.empty()) return key_point_numbers(options.kpt_shape, "data.kpt_shape");
  if (!options.names.empty()) return 0;
  std::error_code failed;
  for (const char* name : {"data.yaml", "dataset.yaml"}) {
    const fs::path file = fs::path(options.root) / name;
    if (!fs::is_regular_file(file, failed)) continue;
    const YamlDocument document = YamlDocument::load(file);
    const YAML::Node& root = document.root().node;
    if (!root.IsMap()) continue;
    const YamlValue shape{root["kpt_shape"], file.string()};
    if (shape.defined())
      return key_point_numbers(yaml_as<std::vector<int>>(shape, "kpt_shape"), shape.where());
    if (!names_in_yaml(document.root()).names().empty())
      break;  // the other file, if any, is of something else
  }
  return 0;
}

/// Whether data.classes chooses from the data set's own names. It does not where it has none of them, or all and more.
bool chooses_from(const std::vector<std::string>& own, const DataOptions& options) {
  const std::vector<std::string>& classes = options.classes;
  const bool goes_on = classes.size() >= own.size() && std::equal(own.begin(), own.end(), classes.begin());
  const auto has = [&](const std::string& name) {
    return std::find(own.begin(), own.end(), name) != own.end();
  };
  return !goes_on && std::any_of(classes.begin(), classes.end(), has);
}

/// Whether a text file lists images.
bool is_image_list(const fs::path& file) {
  const auto line = has_extension(file, ".txt") ? first_text_line(file) : std::nullopt;
  return line && is_image_name(std::string(trimmed(*line)));
}

SplitTests yolo_split_tests() {
  const auto labelled = [](const fs::path& folder) {
    return any_labelled(folder, own_label_places) || holds_archives(folder);
  };
  const auto images = [](const fs::path& folder) {
    return any_image(folder) || !files_in(folder, is_tar_name).empty();
  };
  return {.train = labelled, .labelled = labelled, .images = images};
}

std::string recognize_yolo(const fs::path& place, DataOptions& options) {
  if (!is_folder(place)) {
    if (!is_tar_name(place) && !is_image_list(place)) return "";
    take_file(place.parent_path(), place, options);
    return is_tar_name(place) ? "a .tar of images with YOLO labels" : "a list of images with YOLO labels";
  }
  const std::string divided = "a folder with YOLO labels";
  const SplitTests folders = yolo_split_tests();
  const SplitTests lists{.train = is_image_list, .labelled = is_image_list, .images = is_image_list};
  if (take_splits(place, {"images/*", "*/images", "*"}, folders, options) ||
      take_splits(place, {"*.txt"}, lists, options))
    return divided;
  if (!any_image(place, [](const fs::path& image) { return own_labels(image).found; })) {
    if (!holds_archives(place)) return "";
    take_archives(place, files_in(place, is_tar_name), options);
    return "a folder of .tar shards with YOLO labels";
  }
  // A train folder without labels is an error where it is read, and no reason to train on all splits.
  if (take_splits(place, {"images/*", "JPEGImages/*", "*/images", "*"}, folders.of_known_format(), options))
    return divided;
  options.root = place.string();
  options.train = is_folder(place / "images") ? "images" : ".";
  return "a folder of images with YOLO labels";
}

/// What to write where no name has the id `missing`, the first of these.
std::string how_to_number(const std::map<int, std::string>& by_id, const char* key, size_t missing) {
  std::string remedy = fmt::format(
      "Name each id from 0 on as the labels have it, also one that no label has: add '{0}: unused_{0}' to {1}.",
      missing, key);
  const int64_t first = by_id.begin()->first, last = by_id.rbegin()->first;
  if (first < 0 || last - first + 1 != std::ssize(by_id)) return remedy;
  constexpr size_t most = 5;
  std::vector<std::string> pairs;
  for (const auto& [id, name] : by_id) {
    if (pairs.size() < most) pairs.push_back(fmt::format("{}: {}", id - first, name));
  }
  return fmt::format("{} Where the ids in the labels begin with 0, write {}: {{{}{}}}.", remedy, key,
                     fmt::join(pairs, ", "), by_id.size() > most ? ", …" : "");
}

}  // namespace

ClassNames names_in_yaml(const YamlValue& root) {
  const YAML::Node& node = root.node;
  for (const char* key : {"names", "classes"}) {
    const YamlValue value{node[key], root.file};
    if (!value.defined()) continue;
    if (value.node.IsSequence())
      return ClassNames(yaml_as<std::vector<std::string>>(value, key), value.where());
    const auto by_id = yaml_as<std::map<int, std::string>>(value, key);
    std::set<int> ids;
    for (const auto& entry : value.node) {
      if (ids.insert(entry.first.as<int>()).second) continue;
      throw InputError(fmt::format("'{}' has the id {} twice", key, entry.first.Scalar()),
                       YamlValue{entry.first, value.file}.where(), "Remove one of the two.");
    }
    std::vector<std::string> names;
    for (const auto& [id, name] : by_id) {
      if (id != static_cast<int>(names.size())) {
        throw InputError(
            fmt::format("the ids of '{}' are not 0, 1, 2 …: {} stands for {}", key, id, names.size()),
            value.where(), how_to_number(by_id, key, names.size()));
      }
      names.push_back(name);
    }
    return ClassNames(std::move(names), value.where());
  }
  return {};
}

LabelFile own_labels(const fs::path& image) {
  return find_label_file(own_label_places(image));
}

fs::path parallel_label(const fs::path& image) {
  static constexpr FolderPair folders[] = {{"images", "labels"}, {"JPEGImages", "labels"}};
  return parallel_label(image, folders);
}

size_t key_point_numbers(const std::vector<int>& shape, const std::string& where) {
  if (shape.empty()) return 0;
  constexpr int most_points = 10'000;
  const bool known =
      shape.size() == 2 && shape[0] > 0 && shape[0] <= most_points && (shape[1] == 2 || shape[1] == 3);
  if (!known) {
    throw InputError(fmt::format("'kpt_shape' is [{}]", fmt::join(shape, ", ")), where,
                     "It is the number of points and the numbers of each, 2 or 3: kpt_shape: [17, 3]");
  }
  return static_cast<size_t>(shape[0]) * static_cast<size_t>(shape[1]);
}

ClassNames read_names_file(const fs::path& file) {
  std::vector<std::string> names;
  for (const TextLine& line : read_lines(file)) names.push_back(line.text);
  return ClassNames(std::move(names), file.string());
}

ClassNames names_of_ids(const DataOptions& options, const ClassNames& own) {
  if (!options.names.empty()) return ClassNames(options.names, "data.names");
  const bool maps = !options.map.empty() || !options.target_class_mapping.empty();
  if (!own.names().empty() && (maps || options.classes.empty() || chooses_from(own.names(), options))) {
    for (const std::string& name : options.classes) {
      if (maps || std::find(own.names().begin(), own.names().end(), name) != own.names().end()) continue;
      const std::string nearest = nearest_word(name, own.names());
      throw InputError(
          fmt::format("data.classes lists '{}', which the data set does not have", name), "",
          fmt::format("{}Its classes are {}.", nearest.empty() ? "" : "Did you mean '" + nearest + "'? ",
                      fmt::join(own.names(), ", ")));
    }
    return own;
  }
  if (!options.classes.empty() && !maps) return ClassNames(options.classes, "data.classes");
  const auto under = [&](const std::string& key) {
    return fmt::format("under {0}{1}", key, options.takes_settings ? " (--set " + key + "=[a,b])" : "");
  };
  const std::string file = (fs::path(options.root) / "classes.txt").string();
  throw InputError("the names of the classes are not known", options.root,
                   maps ? "List those of the ids in the labels, in their order, " + under("data.names") + '.'
                   : options.takes_settings
                       ? "List them " + under("data.classes") + ", or one a line in " + file + '.'
                       : "List them, one a line, in " + file + '.');
}

std::vector<fs::path> read_images(const fs::path& place, const DataOptions& options, ProblemLog& log) {
  std::error_code failed;
  if (is_tar_name(place) && fs::is_regular_file(place, failed)) return images_of_archive(place, log);
  if (!fs::is_directory(place, failed)) return read_image_list(place, options);
  FolderFiles files = files_below(place);
  report_unknown_endings(files, own_labels, log);
  report_unused_labels(place, files, log);
  // An archive beside images is a copy of them more likely than more of them.
  const bool alone = files.images.empty();
  for (const fs::path& archive : files.others) {
    if (!alone || !is_tar_name(archive)) continue;
    for (fs::path& image : images_of_archive(archive, log)) files.images.push_back(std::move(image));
  }
  return std::move(files.images);
}

static std::unique_ptr<LabelSource> open_labels(std::vector<fs::path> images, YoloNames names,
                                                size_t key_points) {
  std::vector<std::string> all = names.classes.names();
  const auto read = [names = std::move(names), key_points](const fs::path& labels, LabelledImage& image,
                                                           ProblemLog& log) {
    read_labels(labels, names, key_points, image, log);
  };
  return std::make_unique<LabelsBesideImages>(std::move(images), own_labels, read, std::move(all));
}

std::unique_ptr<LabelSource> open_text_labels(std::vector<fs::path> images, ClassNames classes) {
  return open_labels(std::move(images), YoloNames{std::move(classes)}, 0);
}

std::unique_ptr<LabelSource> open_yolo(const DataOptions& options, Split split, ProblemLog& log) {
  const fs::path root = data_root(options);
  std::vector<fs::path> images;
  for (const fs::path& place : split_places(options, split, {root})) {
    for (fs::path& image : read_images(place, options, log)) images.push_back(std::move(image));
  }
  YoloNames names = find_yolo_names(options, split, images);
  return open_labels(std::move(images), std::move(names), key_points_of(options));
}

DatasetFormat yolo_format() {
  return {
      .name = "yolo",
      .open = open_yolo,
      .several_places = true,
      .recognize = recognize_yolo,
      .recognized_by =
          "a folder of images with YOLO labels (.txt beside them, or labels/ beside images/), also "
          "divided into train and val, or a .txt that lists images; images and labels may lie in .tar archives",
      .labelled = has_yolo_file,
      .label_files = "YOLO's .txt"};
}

}  // namespace brightnet
