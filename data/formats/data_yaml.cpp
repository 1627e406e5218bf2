#include "data/formats/data_yaml.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/files.h"
#include "core/text.h"
#include "data/formats/layout.h"
#include "data/formats/places.h"
#include "data/formats/yolo.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

// The most classes that get numbers because nobody has named them: a list of more would take memory and time.
constexpr int most_classes = 100'000;

YamlValue child(const YamlValue& root, const char* key) {
  const YAML::Node& node = root.node;
  return {node[key], root.file};
}

bool has(const YamlValue& root, const char* key) {
  return child(root, key).defined();
}

bool is_ultralytics(const YamlValue& root) {
  return (has(root, "train") && child(root, "train").node.IsMap() == false && !has(root, "format") &&
          (has(root, "names") || has(root, "nc") || has(root, "path"))) ||
         (has(root, "names") && (has(root, "path") || (has(root, "val") && !has(root, "format"))));
}

bool is_section(const YamlValue& root) {
  return has(root, "train") && !child(root, "train").node.IsMap() &&
         (has(root, "format") || has(root, "root") || has(root, "classes"));
}

/// The folder that a root names; empty when it is not there.
fs::path find_data_folder(const std::string& text, const fs::path& yaml_folder) {
  return without_slash(find_path(text, yaml_folder, false));
}

/// Whether a path begins with a drive of Windows: "C:\data" or "C:/data".
bool has_drive(const std::string& path) {
  return path.size() > 2 && std::isalpha(static_cast<unsigned char>(path[0])) && path[1] == ':' &&
         (path[2] == '\\' || path[2] == '/');
}

/// What a data.yaml says about fetching its files. This program does not run it.
std::string download_of(const YamlValue& root) {
  const YamlValue download = child(root, "download");
  if (!download.defined() || !download.node.IsScalar()) return "";
  const std::string text = download.node.Scalar();
  const std::string line(trimmed(std::string_view(text).substr(0, text.find('\n'))));
  return line.find("://") != std::string::npos && line.size() == text.size() ? line : "a script";
}

/// Reads Ultralytics's data.yaml.
class UltralyticsYaml {
 public:
  UltralyticsYaml(const YamlValue& root, const fs::path& file)
      : root_(root),
        yaml_folder_(fs::absolute(file).parent_path().lexically_normal()),
        folder_(find_root()) {}

  RecognizedData read() const {
    RecognizedData data;
    data.what = "an Ultralytics data.yaml";
    data.options.format = &dataset_format("yolo");
    data.options.root = folder_.string();
    data.options.train = places("train");
    data.options.val = places("val");
    data.options.test = places("test");
    if (data.options.train.empty() && data.options.val.empty() && data.options.test.empty()) {
      throw InputError("this data.yaml names no images", root_.file,
                       "Add train: the folder of the images, or a file that lists them.");
    }
    data.options.names = names();
    std::vector<std::string> remarks;
    if (const YamlValue shape = child(root_, "kpt_shape"); shape.defined()) {
      data.options.kpt_shape = yaml_as<std::vector<int>>(shape, "kpt_shape");
      key_point_numbers(data.options.kpt_shape, shape.where());
      remarks.emplace_back("its boxes are read, and its key points (kpt_shape) are not");
    }
    if (const std::string download = download_of(root_); !download.empty())
      remarks.push_back(fmt::format("its download ({}) is not run", download));
    data.remark = fmt::format("{}", fmt::join(remarks, ", "));
    return data;
  }

 private:
  fs::path find_root() const {
    const YamlValue path = child(root_, "path");
    if (!path.defined()) return yaml_folder_;
    const std::string text = yaml_as<std::string>(path, "path", "a text");
    const fs::path found = find_data_folder(text, yaml_folder_);
    if (found.empty()) refuse("path", text, path, {yaml_folder_, fs::current_path()});
    return found;
  }

  [[noreturn]] void refuse(const char* key, const std::string& text, const YamlValue& value,
                           std::vector<fs::path> searched) const {
    searched.erase(std::unique(searched.begin(), searched.end()), searched.end());
    std::vector<std::string> folders;
    for (const fs::path& folder : searched) folders.push_back(folder.string());
    std::string remedy = fmt::format("It was looked for in {}.", fmt::join(folders, " and in "));
    if (fs::path(text).is_absolute()) remedy = "Correct the path.";
    if (has_drive(text))
      remedy =
          "It is a path of Windows: write where it is on this computer, from the folder of this YAML on.";
    const std::string download = download_of(root_);
    if (!download.empty()) {
      remedy +=
          fmt::format(" Its `download:` ({}) says where the data are; brightnet does not run it.", download);
    }
    throw InputError(fmt::format("'{}' names {}, which does not exist", key, text), value.where(), remedy);
  }

  /// The places of a split, relative to the root where they are below it; "" when there are none.
  std::string places(const char* key) const {
    const YamlValue value = child(root_, key);
    if (!value.defined()) return "";
    std::vector<std::string> found;
    const auto all = value.node.IsSequence()
                         ? yaml_as<std::vector<std::string>>(value, key)
                         : std::vector<std::string>{yaml_as<std::string>(value, key, "a text or a list")};
    for (const std::string& text : all) found.push_back(below_root(place(key, text, value), folder_));
    return fmt::format("{}", fmt::join(found, "\n"));
  }

  fs::path place(const char* key, const std::string& text, const YamlValue& value) const {
    std::vector<std::string> spellings{text};
    if (text.starts_with("../") || text.starts_with("..\\")) spellings.push_back(text.substr(3));
    std::error_code failed;
    // A whole folder before the next: what is one above the current folder may be of other data.
    for (const fs::path& folder : {folder_, yaml_folder_, fs::current_path()}) {
      for (const std::string& spelling : spellings) {
        const fs::path path = find_below(spelling, {folder});
        if (fs::exists(path, failed)) return without_slash(path);
      }
    }
    // Files often name a test split that is not there; it is missed where it is used.
    if (std::string_view(key) == "test") return folder_ / text;
    refuse(key, text, value, {folder_, yaml_folder_, fs::current_path()});
  }

  std::vector<std::string> names() const {
    const YamlValue count = child(root_, "nc");
    std::vector<std::string> names = names_in_yaml(root_).names();
    if (!count.defined()) return names;
    const int classes = yaml_as<int>(count, "nc", "a whole number");
    const bool numbered = names.empty();
    if (numbered && classes > most_classes)
      throw InputError(fmt::format("'nc' is {}, and there are no names", classes), count.where(),
                       "List the classes under names.");
    for (int i = 0; numbered && i < classes; ++i) names.push_back(fmt::format("class_{}", i));
    if (classes != std::ssize(names)) {
      throw InputError(fmt::format("'nc' is {}, but there are {} names", classes, names.size()),
                       count.where(), "Correct one of the two.");
    }
    return names;
  }

  YamlValue root_;
  fs::path yaml_folder_, folder_;
};

/// The options of a `data:` section: relative roots start in the YAML's folder.
DataOptions read_section(const YamlValue& section, const fs::path& file) {
  DataOptions options;
  read_config(section, options);
  const fs::path folder = fs::absolute(file).parent_path();
  if (!has(section, "root")) {
    options.root = folder.lexically_normal().string();
    return options;
  }
  const fs::path root = find_data_folder(options.root, folder);
  if (root.empty()) {
    throw InputError("'root' names '" + options.root + "', which does not exist",
                     child(section, "root").where(),
                     fmt::format("It was looked for in {} and in {}", folder.lexically_normal().string(),
                                 fs::current_path().string()));
  }
  options.root = root.string();
  return options;
}

}  // namespace

bool describes_data(const YamlValue& root) {
  const bool run = has(root, "data") || has(root, "model") || has(root, "layers");
  return !run && (is_ultralytics(root) || is_section(root));
}

bool has_data(const YamlValue& root) {
  return describes_data(root) || (has(root, "data") && child(root, "data").node.IsMap());
}

bool lacks_layout(const YamlValue& section) {
  if (!section.defined() || !section.node.IsMap()) return false;
  for (const char* key : {"format", "train", "val", "test"}) {
    if (has(section, key)) return false;
  }
  return has(section, "root");
}

RecognizedData take_layout(const YamlValue& section, DataOptions& options) {
  RecognizedData data = recognize_data(options.root);
  const std::string root = data.options.root;
  read_config(section, data.options);
  data.options.root = root;
  options = data.options;
  return data;
}

RecognizedData data_of_yaml(const fs::path& file) {
  const YamlDocument document = YamlDocument::load(file);
  const YamlValue root = document.root();
  if (has(root, "data") && child(root, "data").node.IsMap()) {
    const YamlValue section = child(root, "data");
    RecognizedData data;
    data.options = read_section(section, file);
    if (lacks_layout(section)) return take_layout(section, data.options);
    data.what = "the data of a run's YAML";
    return data;
  }
  if (has(root, "layers"))
    throw InputError("this is a model, and data are wanted", file.string(), "Give it with --model.");
  if (is_section(root)) {
    RecognizedData data;
    data.options = read_section(root, file);
    data.what = "brightnet's data.yaml";
    return data;
  }
  if (is_ultralytics(root)) return UltralyticsYaml(root, file).read();
  throw InputError(
      "this YAML describes no data", file.string(),
      "An Ultralytics data.yaml has path, train, val and names; a run's YAML has a `data:` section; such "
      "a section alone has format, root, train and val.");
}

}  // namespace brightnet
