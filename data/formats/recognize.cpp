#include "data/formats/recognize.h"

#include <algorithm>
#include <array>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/files.h"
#include "core/printable.h"
#include "core/text.h"
#include "data/formats/classes.h"
#include "data/formats/data_yaml.h"
#include "data/formats/folder.h"
#include "data/formats/layout.h"
#include "data/formats/mixed_labels.h"
#include "data/formats/places.h"
#include "data/formats/pooled_splits.h"
#include "data/formats/yolo.h"
#include "data/image/read_image.h"
#include "data/image/stored_file.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

bool is_yaml(const fs::path& file) {
  return file.extension() == ".yaml" || file.extension() == ".yml";
}

/// The path made absolute, without a slash at its end.
fs::path clean(const fs::path& path) {
  return without_slash(fs::absolute(path));
}

/// The YAML of a folder that describes its data: the exporters' usual names. One that leaves it to the folder itself
/// tells nothing.
fs::path yaml_of_folder(const fs::path& folder) {
  for (const char* name : {"data.yaml", "data.yml", "dataset.yaml", "dataset.yml"}) {
    if (!is_there(folder / name)) continue;
    const YamlDocument document = YamlDocument::load(folder / name);
    const YamlValue root = document.root();
    if (has_data(root) && !lacks_layout({root.node["data"], root.file})) return folder / name;
  }
  return {};
}

/// The only entry of a folder of images in which there are none but in its subfolder; empty for any other.
fs::path only_subfolder(const fs::path& folder) {
  std::error_code failed;
  fs::path only;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    if (!only.empty() || !is_folder(entry.path())) return {};
    only = entry.path();
  }
  return only;
}

/// The first format after this one, in the order in which they are tried, that recognizes the place: `other`, or one whose
/// labels are not in one file an image.
std::optional<RecognizedData> recognize_after(const DatasetFormat& tried, const DatasetFormat* other,
                                              const fs::path& place) {
  const auto& formats = dataset_formats();
  const auto is_tried = [&](const DatasetFormat& format) { return &format == &tried; };
  for (auto format = std::find_if(formats.rbegin(), formats.rend(), is_tried) + 1; format < formats.rend();
       ++format) {
    if (!format->recognize || (format->labelled && &*format != other)) continue;
    RecognizedData data;
    data.options.format = &*format;
    data.what = format->recognize(place, data.options);
    if (!data.what.empty()) return data;
  }
  return std::nullopt;
}

/// Takes a data set as one of another format, whose label files more of its images have.
void take_other_labels(const fs::path& place, const DatasetFormat& other, RecognizedData& data) {
  if (auto later = recognize_after(*data.options.format, &other, place)) {
    data = std::move(*later);
    return;
  }
  // YOLO's labels in labels/ beside images/ are meant; other files there are what they were made from.
  const fs::path root = data.options.root;
  if (data.options.format->open == open_yolo && is_folder(root / "images") && is_folder(root / "labels"))
    return;
  data.options.format = &other;
  data.what = "a folder of images with " + other.label_files;
}

/// A few label files of another format, such as those of a tool that somebody tried, do not decide for all images.
void weigh_labels(const fs::path& place, RecognizedData& data) {
  const DatasetFormat* first = data.options.format;
  const LabelCounts counts = count_labels(data.options);
  if (counts.images == 0) return;
  const std::string few = fmt::format("{} of {} images {} {}", counts.own, counts.images,
                                      counts.own == 1 ? "has" : "have", first->label_files);
  if (!counts.other) {
    if (2 * counts.own >= counts.images) return;
    if (const auto later = recognize_after(*first, nullptr, place))
      data.remark = fmt::format("{}, and this is {} too (--data {} reads that)", few, later->what,
                                shell_path(fs::path(later->options.root) / later->options.train));
    return;
  }
  if (counts.of_other > counts.own) take_other_labels(place, *counts.other, data);
  if (data.options.format->labelled) {
    const bool same = data.options.format == first;
    data.remark = (same ? counts : count_labels(data.options)).remark(*data.options.format);
  } else if (counts.own > 0) {
    data.remark = few + ", which is not read";
  }
}

/// The data set of one of the formats. YOLO's is the plainest and is taken last.
bool recognize_format(const fs::path& place, RecognizedData& data) {
  const auto& formats = dataset_formats();
  for (auto format = formats.rbegin(); format != formats.rend(); ++format) {
    DataOptions options;
    options.format = &*format;
    data.what = format->recognize ? format->recognize(place, options) : "";
    if (data.what.empty()) continue;
    data.options = options;
    if (is_folder(place)) weigh_labels(place, data);
    return true;
  }
  return false;
}

/// The folder without files of a data set that holds but this one, as an archive leaves it that was unpacked into a folder
/// of its own; empty for any other. Notes and the archive itself may lie beside.
fs::path inner_folder(const fs::path& folder) {
  static constexpr std::array<std::string_view, 7> known{".tar",  ".csv",   ".yaml",  ".yml",
                                                         ".data", ".names", ".labels"};
  std::error_code failed;
  fs::path only;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    const fs::path& path = entry.path();
    const std::string name = lower_case(path.filename().string());
    if (name.starts_with('.') || is_clutter(path)) continue;
    if (is_folder(path)) {
      if (!only.empty()) return {};
      only = path;
      continue;
    }
    const bool is_note = name.starts_with("readme") || name.starts_with("license");
    const bool is_known = std::find(known.begin(), known.end(), fs::path(name).extension()) != known.end();
    if (is_image_name(path) || is_known || (is_label_name(path) && !is_note)) return {};
  }
  return only;
}

void add_remark(RecognizedData& data, const std::string& remark) {
  data.remark += (data.remark.empty() || remark.empty() ? "" : ", ") + remark;
}

struct FoundData {
  RecognizedData data;
  bool described;  ///< by a YAML
};

std::optional<FoundData> found_at(const fs::path& folder) {
  FoundData found{.data = {}, .described = false};
  if (const fs::path yaml = yaml_of_folder(folder); !yaml.empty()) {
    found = {.data = data_of_yaml(yaml), .described = true};
    found.data.what += " in a folder";
    return found;
  }
  return recognize_format(folder, found.data) ? std::optional(found) : std::nullopt;
}

/// The data set of a folder, or of the only folder in it where that says more: by a YAML, by splits, or by another format.
std::optional<FoundData> find_in_folder(const fs::path& folder) {
  constexpr int most_levels = 3;
  std::optional<FoundData> found = found_at(folder);
  fs::path inner = folder;
  for (int level = 1; level < most_levels; ++level) {
    if (found && (found->described || !found->data.undivided())) break;
    inner = inner_folder(inner);
    if (inner.empty()) break;
    std::optional<FoundData> below = found_at(inner);
    if (!below) continue;
    const bool says_more = !found || below->described || !below->data.undivided() ||
                           below->data.options.format != found->data.options.format;
    if (!says_more) continue;
    add_remark(below->data,
               fmt::format("read from its only folder {}", inner.lexically_relative(folder).string()));
    found = std::move(below);
  }
  return found;
}

/// The JSON files of a folder that name validation or test images, by their names or, as Roboflow exports them, those of their
/// folders; of several in a folder, those of the instances. They are looked for where nothing else is recognized, since other
/// labels may lie beside them.
std::vector<fs::path> held_back_files(const fs::path& folder) {
  const auto recognized = [](std::vector<fs::path> files) {
    // COCO's own archive also has captions_val2017.json and person_keypoints_val2017.json.
    if (files.size() > 1)
      std::erase_if(files,
                    [](const fs::path& file) { return !file.filename().string().starts_with("instances"); });
    std::erase_if(files, [](const fs::path& file) {
      RecognizedData ignored;
      return !recognize_format(file.lexically_normal(), ignored);
    });
    return files;
  };
  std::vector<fs::path> found;
  for (const char* below : {"annotations", "."}) {
    std::vector<fs::path> files = files_with_extension(folder / below, ".json");
    std::erase_if(files, [](const fs::path& file) {
      const std::string name = file.filename().string();
      return !has_word_of(name, Split::val) && !has_word_of(name, Split::test);
    });
    for (const fs::path& file : recognized(std::move(files))) found.push_back(file.lexically_normal());
    if (!found.empty()) return found;
  }
  for (const Split split : {Split::val, Split::test}) {
    for (const std::string& name : split_names(split)) {
      for (const fs::path& file : recognized(files_with_extension(folder / name, ".json")))
        found.push_back(file);
    }
  }
  return found;
}

/// The data of validation or test images alone. Throws InputError where there are both: the training images are missing then,
/// and which of the others is meant is not said.
bool take_held_back_file(const fs::path& folder, const std::string& place, RecognizedData& data) {
  const std::vector<fs::path> files = held_back_files(folder);
  if (files.size() > 1) {
    std::vector<std::string> names, options;
    for (const fs::path& file : files) {
      names.push_back(below_root(file, folder));
      options.push_back("--data " + shell_path(file));
    }
    throw InputError(
        fmt::format("there are no training images, and others in several files: {}", fmt::join(names, ", ")),
        place,
        fmt::format(
            "To evaluate or check one of these, give {} alone. A training needs a file of training images "
            "too: give both, --data TRAIN,VAL in this order.",
            fmt::join(options, " or ")));
  }
  if (files.empty() || !recognize_format(files[0], data)) return false;
  data.what += " in a folder";
  if (const std::string root = below_root(data.options.root, folder); root != ".")
    add_remark(data, "read from its folder " + root);
  return true;
}

[[noreturn]] void refuse(const std::string& place) {
  std::vector<std::string> known{"an Ultralytics data.yaml, or a folder with one", "a run's YAML"};
  for (const DatasetFormat& format : dataset_formats()) {
    if (!format.recognized_by.empty()) known.push_back(format.recognized_by);
  }
  throw InputError(is_folder(place) ? "no data set was recognized in this folder"
                                    : "this was not recognized as a data set",
                   place, fmt::format("Looked for: {}.", fmt::join(known, "; ")));
}

RecognizedData recognize_folder(const fs::path& folder, const std::string& place) {
  RecognizedData data;
  if (std::optional<FoundData> found = find_in_folder(folder)) {
    data = std::move(found->data);
    if (found->described) return data;
    refuse_pooled_splits(data, folder);
    take_splits_beside(data);
    add_remark(data, remark_on_splits(data.options));
    return data;
  }
  if (!take_held_back_file(folder, place, data)) refuse(place);
  return data;
}

/// The places of the splits that a text such as "train.json,val.json" lists.
std::vector<std::string> parts_of(const std::string& place) {
  std::vector<std::string> parts;
  std::istringstream text(place);
  for (std::string part; std::getline(text, part, ',');) parts.emplace_back(trimmed(part));
  return parts;
}

RecognizedData recognize_parts(const std::vector<std::string>& parts) {
  if (parts.size() > 3)
    throw InputError("--data has " + std::to_string(parts.size()) + " places", "--data",
                     "Give those of train and val, or of train, val and test.");
  for (const std::string& part : parts) {
    if (!is_there(part)) throw InputError("there is no such file or folder", part, "Correct --data.");
  }
  RecognizedData data;
  if (!recognize_format(clean(parts[0]), data)) refuse(parts[0]);
  // All splits keep the root of the first place, where images and names of classes are looked for.
  const fs::path root = data.options.root;
  std::string DataOptions::*const keys[] = {&DataOptions::train, &DataOptions::val, &DataOptions::test};
  for (size_t i = 0; i < std::size(keys); ++i)
    data.options.*keys[i] = i < parts.size() ? below_root(clean(parts[i]), root) : "";
  return data;
}

}  // namespace

bool names_held_back_images(const DataOptions& options) {
  const fs::path train = options.train;
  std::vector<std::string> names{clean(options.root).filename().string(),
                                 only_subfolder(fs::path(options.root) / train).filename().string()};
  for (const fs::path& part : train.is_absolute() ? train.filename() : train) names.push_back(part.string());
  const auto any_of_split = [&](Split split) {
    return std::any_of(names.begin(), names.end(),
                       [&](const std::string& name) { return has_word_of(name, split); });
  };
  return !any_of_split(Split::train) && (any_of_split(Split::val) || any_of_split(Split::test));
}

bool RecognizedData::undivided() const {
  return given_splits(options) == std::vector{Split::train};
}

bool RecognizedData::lacks_validation() const {
  const std::vector<Split> splits = given_splits(options);
  return !options.train.empty() && std::find(splits.begin(), splits.end(), Split::val) == splits.end();
}

std::string RecognizedData::text() const {
  std::vector<std::string> facts;
  for (const Split split : {Split::train, Split::val, Split::test}) {
    const std::vector<std::string> places = listed_places(options.place(split));
    const bool all =
        options.place(split) == "." || options.place(split) == fs::absolute(place).lexically_normal();
    if (places.empty() || all) continue;
    facts.push_back(fmt::format("{} {}", enum_name(split), fmt::join(places, " + ")));
  }
  if (const auto classes = known_classes(options))
    facts.push_back(counted(classes->size(), "class", "classes"));
  if (!remark.empty()) facts.push_back(remark);
  return fmt::format("{}, {}{}{}", what, place, facts.empty() ? "" : ": ", fmt::join(facts, ", "));
}

RecognizedData recognize_data(const std::string& place) {
  RecognizedData data;
  if (!is_there(place)) {
    const std::vector<std::string> parts = parts_of(place);
    if (parts.size() < 2) throw InputError("there is no such file or folder", place, "Correct --data.");
    data = recognize_parts(parts);
  } else if (const fs::path whole = clean(place); is_yaml(whole) && !is_folder(whole)) {
    data = data_of_yaml(whole);
  } else if (is_folder(whole)) {
    data = recognize_folder(whole, place);
  } else if (!recognize_format(whole, data)) {
    refuse(place);
  }
  data.place = place;
  return data;
}

std::optional<RecognizedData> recognize_images(const std::string& place) {
  if (!is_folder(place)) return std::nullopt;
  const fs::path whole = clean(place);
  if (!yaml_of_folder(whole).empty()) return std::nullopt;
  RecognizedData data;
  const std::optional<FoundData> found = find_in_folder(whole);
  if (found) data = found->data;
  if (!found) {
    if (images_below(whole).empty()) {
      throw InputError("this folder has no images and is no data set", place,
                       "Its subfolders were looked into too. Give a folder of images, or a data set.");
    }
    data.options.format = &unlabelled_format();
    data.options.root = whole.string();
    data.options.train = ".";
    data.what = "a folder of images without labels";
  } else if (found->described || data.options.format->open != open_yolo || data.options.train != "." ||
             !any_image(whole)) {
    return std::nullopt;
  }
  data.place = place;
  return data;
}

bool is_data(const fs::path& place) {
  if (is_folder(place)) return true;
  if (!is_there(place)) {
    const std::vector<std::string> parts = parts_of(place.string());
    return parts.size() > 1 &&
           std::all_of(parts.begin(), parts.end(), [](const auto& part) { return is_there(part); });
  }
  if (is_yaml(place)) return describes_data(YamlDocument::load(place).root());
  RecognizedData data;
  return place.extension() != ".cfg" && recognize_format(clean(place), data);
}

}  // namespace brightnet
