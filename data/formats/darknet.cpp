// darknet's data set: an obj.data of "key = value" lines (classes, train, valid, names; also test, which
// darknet itself ignores) that points at list files of images and at a file of class names. The labels are
// YOLO's text files; where darknet replaces the folder "images" or "JPEGImages" by "labels" and finds
// nothing, the file beside the image is taken, as darknet does for folders of other names.
//
// data.train is an obj.data file (data.val and data.test may then be empty: its `valid` and `test` are read)
// or a list file, for which the names come from data.classes. Paths inside start at data.root, at the file's
// own folder, at the folder above it, or at the current folder, as darknet's do: the first that exists. CVAT writes
// "data/" in front of the paths of files that lie beside its obj.data.
#include <algorithm>
#include <map>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "data/formats/folder.h"
#include "data/formats/format.h"
#include "data/formats/labels.h"
#include "data/formats/layout.h"
#include "data/formats/places.h"
#include "data/formats/yolo.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

/// The key of a split in an obj.data.
const char* key_of(Split split) {
  switch (split) {
    case Split::train: break;
    case Split::val: return "valid";
    case Split::test: return "test";
  }
  return "train";
}

/// CVAT writes its subsets' names as keys, such as "Train" and "Validation".
std::string usual_key(const std::string& key) {
  for (const Split split : {Split::train, Split::val, Split::test}) {
    const auto& names = split_names(split);
    if (std::find(names.begin(), names.end(), key) != names.end()) return key_of(split);
  }
  return key;
}

struct Setting {
  std::string value;
  std::string where;
};

// The keys and values of an obj.data file. darknet ignores unknown keys, and such files contain some (backup, eval,
// results).
class ObjData {
 public:
  explicit ObjData(const fs::path& file) : file_(file) {
    for (const TextLine& line : read_lines(file)) {
      if (line.text.starts_with('#') || line.text.starts_with(';')) continue;
      const size_t equals = line.text.find('=');
      if (equals == std::string::npos)
        throw InputError("'" + line.text + "' is not of the form key = value", at_line(file, line.number));
      const std::string_view text = line.text;
      settings_[usual_key(std::string(trimmed(text.substr(0, equals))))] = {
          std::string(trimmed(text.substr(equals + 1))), at_line(file, line.number)};
    }
  }

  const Setting* find(const std::string& key) const {
    const auto found = settings_.find(key);
    return found == settings_.end() ? nullptr : &found->second;
  }

  /// The file that a key names; empty when the key or the file is not there.
  fs::path find_file(const std::string& key, const DataOptions& options) const {
    const Setting* setting = find(key);
    if (!setting) return {};
    const fs::path path = find_listed(setting->value, file_, options);
    std::error_code failed;
    return fs::exists(path, failed) ? path : fs::path();
  }

  /// The file that a key names. Throws InputError when the key or the file is not there.
  fs::path file_of(const std::string& key, const DataOptions& options) const {
    const Setting* setting = find(key);
    if (!setting) {
      throw InputError("there is no '" + key + " =' in this file", file_.string(),
                       "Add it, or set it under data.");
    }
    const fs::path path = find_file(key, options);
    if (path.empty()) {
      throw InputError(
          "'" + key + "' names " + setting->value + ", which does not exist", setting->where,
          "Paths start at data.root (" + options.root + "), at this file, or at the current folder.");
    }
    return path;
  }

 private:
  fs::path file_;
  std::map<std::string, Setting> settings_;
};

void check_count(const ObjData& data, const ClassNames& classes) {
  const Setting* count = data.find("classes");
  if (!count) return;
  const size_t found = classes.names().size();
  if (parse_number(count->value) != static_cast<double>(found)) {
    throw InputError(
        "'classes' is " + count->value + ", but there are " + std::to_string(found) + " class names",
        count->where, "Correct one of the two.");
  }
}

/// A file of names is not missed where data.names or data.classes has them.
ClassNames names_of(const ObjData& data, const DataOptions& options) {
  const bool needed = options.names.empty() && options.classes.empty();
  const fs::path file = needed ? data.file_of("names", options) : data.find_file("names", options);
  const ClassNames own = file.empty() ? ClassNames() : read_names_file(file);
  if (needed && own.names().empty())
    throw InputError("this file of class names is empty", data.find("names")->where);
  return names_of_ids(options, own);
}

bool is_obj_data(const fs::path& path) {
  return path.extension() == ".data";
}

/// Whether data.train is an obj.data file that has this split.
bool obj_data_names(Split split, const DataOptions& options) {
  if (!is_obj_data(options.train)) return false;
  if (split == Split::train) return true;
  const fs::path file = find_below(options.train, {options.root, "."});
  std::error_code failed;
  return fs::exists(file, failed) && ObjData(file).find(key_of(split));
}

std::vector<std::string> names_of_obj_data(const DataOptions& options) {
  if (!is_obj_data(options.train)) return {};
  return names_of(ObjData(find_below(options.train, {options.root, "."})), options).names();
}

std::unique_ptr<LabelSource> open_darknet(const DataOptions& options, Split split, ProblemLog& log) {
  const fs::path root = data_root(options);
  const bool from_train =
      split != Split::train && options.place(split).empty() && obj_data_names(split, options);
  const fs::path path = split_place(options, from_train ? Split::train : split, {root, "."});
  if (!is_obj_data(path)) {
    DataOptions lists = options;
    if (is_obj_data(options.train)) lists.names = names_of_obj_data(options);
    return open_yolo(lists, split, log);
  }
  const ObjData data(path);
  const fs::path list = data.file_of(key_of(split), options);
  ClassNames classes = names_of(data, options);
  check_count(data, classes);
  std::vector<fs::path> images = read_images(list, options, log);
  return open_text_labels(std::move(images), std::move(classes));
}

bool holds_obj_data(const fs::path& file) {
  if (!is_obj_data(file)) return false;
  const auto lines = read_lines(file);
  return std::any_of(lines.begin(), lines.end(), [](const TextLine& line) {
    const size_t equals = line.text.find('=');
    return equals != std::string::npos &&
           usual_key(std::string(trimmed(std::string_view(line.text).substr(0, equals)))) == "train";
  });
}

std::string recognize_darknet(const fs::path& place, DataOptions& options) {
  const bool folder = is_folder(place);
  std::vector<fs::path> files = folder ? files_in(place, is_obj_data) : std::vector{place};
  std::erase_if(files, [](const fs::path& file) { return !holds_obj_data(file); });
  if (files.size() != 1) return "";
  // As in darknet, paths inside start in the current folder; absolute ones survive resuming elsewhere.
  options.root = fs::current_path().string();
  options.train = files[0].string();
  return folder ? "darknet's " + files[0].filename().string() + " in a folder" : "darknet's obj.data";
}

}  // namespace

DatasetFormat darknet_format() {
  return {.name = "darknet",
          .open = open_darknet,
          .train_names = obj_data_names,
          .names_of_train = names_of_obj_data,
          .recognize = recognize_darknet,
          .recognized_by = "darknet's obj.data (train, valid and names), or a folder with one"};
}

}  // namespace brightnet
