#include "data/commands/convert.h"

#include <memory>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/output_files.h"
#include "core/printable.h"
#include "core/text.h"
#include "core/unique_names.h"
#include "data/formats/places.h"
#include "data/image/header.h"
#include "data/image/read_image.h"
#include "data/image/stored_file.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

void check(const std::error_code& error, const fs::path& place) {
  if (!error) return;
  throw InputError("this cannot be written: " + error.message(), place.string(), "Name another folder.");
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  create_folders(folder, error);
  check(error, folder);
}

/// The text with '_' for each byte that is no part of a UTF-8 character (Unicode, table 3-7: no overlong forms, no
/// surrogates).
std::string utf8_only(std::string text) {
  const auto within = [&](size_t i, int first, int last) {
    return i < text.size() && static_cast<uint8_t>(text[i]) >= first && static_cast<uint8_t>(text[i]) <= last;
  };
  for (size_t at = 0; at < text.size();) {
    const auto lead = static_cast<uint8_t>(text[at]);
    const size_t length = lead < 0x80                    ? 1
                          : lead >= 0xC2 && lead <= 0xDF ? 2
                          : (lead & 0xF0) == 0xE0        ? 3
                          : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                         : 0;
    const int first = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const int last = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    bool whole = length == 1 || (length > 1 && within(at + 1, first, last));
    for (size_t i = 2; i < length; ++i) whole = whole && within(at + i, 0x80, 0xBF);
    if (!whole) text[at] = '_';
    at += whole ? length : 1;
  }
  return text;
}

/// An image's file name, changed when another image of the split has the same stem: their labels would share
/// a file. It is UTF-8, as all text of JSON, which would name another file otherwise.
class FileNames {
 public:
  std::string of(const ImageName& image) {
    return names_.of(utf8_only(image.stem)) + utf8_only(image.ending);
  }

 private:
  UniqueNames names_;
};

void place_image(const fs::path& from, const fs::path& to, bool copy) {
  if (copy || !archive_of(from).empty()) {
    const std::vector<uint8_t> bytes = read_stored(from, 0, whole_file);
    if (bytes.empty()) throw InputError("this image cannot be read", from.string());
    write_atomically(to, std::string(bytes.begin(), bytes.end()));
    return;
  }
  std::error_code error;
  fs::create_symlink(fs::absolute(from).lexically_normal(), to, error);
  check(error, to);
}

Json coco_annotation(const Annotation& a, size_t id, size_t image_id) {
  return {{"id", id},
          {"image_id", image_id},
          {"category_id", a.class_id + 1},
          {"bbox", {a.x1, a.y1, a.x2 - a.x1, a.y2 - a.y1}},
          {"area", a.area},
          {"iscrowd", a.crowd ? 1 : 0}};
}

/// Writes the labels of one split, image by image.
class LabelWriter {
 public:
  virtual ~LabelWriter() = default;
  virtual void add(const ImageRecord& image, const fs::path& name) = 0;
  virtual void finish(const std::vector<std::string>& classes) = 0;
};

class YoloWriter : public LabelWriter {
 public:
  YoloWriter(const fs::path& folder, Split split) : labels_(folder / "labels" / enum_name(split)) {
    make_folder(labels_);
  }
  void add(const ImageRecord& image, const fs::path& name) override {
    fs::path file = labels_ / name;
    write_atomically(file.replace_extension(".txt"), yolo_labels(image));
  }
  void finish(const std::vector<std::string>&) override {}

 private:
  fs::path labels_;
};

class CocoWriter : public LabelWriter {
 public:
  CocoWriter(const fs::path& folder, Split split)
      : file_(folder / "annotations" / fmt::format("instances_{}.json", enum_name(split))) {
    make_folder(file_.parent_path());
  }
  void add(const ImageRecord& image, const fs::path& name) override {
    const size_t id = images_.size() + 1;
    images_.push_back(
        {{"id", id}, {"file_name", name.string()}, {"width", image.width}, {"height", image.height}});
    for (const Annotation& a : image.annotations)
      annotations_.push_back(coco_annotation(a, annotations_.size() + 1, id));
  }
  void finish(const std::vector<std::string>& classes) override {
    Json categories = Json::array();
    for (const auto& name : classes) categories.push_back({{"id", categories.size() + 1}, {"name", name}});
    const Json document{{"images", images_}, {"annotations", annotations_}, {"categories", categories}};
    write_atomically(file_, to_line(document) + '\n');
  }

 private:
  fs::path file_;
  Json images_ = Json::array(), annotations_ = Json::array();
};

std::unique_ptr<LabelWriter> label_writer(const ConvertOptions& options, Split split) {
  switch (options.format) {
    case WrittenFormat::yolo: return std::make_unique<YoloWriter>(options.folder, split);
    case WrittenFormat::coco: return std::make_unique<CocoWriter>(options.folder, split);
  }
  return nullptr;
}

struct WrittenLabels {
  const char* whose;
  bool crowds;      ///< whether the labels can have crowds
  bool names_file;  ///< whether the classes' names are in data.yaml
  bool by_ending;   ///< whether images are found by the endings of their names
};
constexpr WrittenLabels labels_of(WrittenFormat format) {
  switch (format) {
    case WrittenFormat::yolo: return {"YOLO's", false, true, true};
    case WrittenFormat::coco: return {"COCO's", true, false, false};
  }
  return {};
}

/// Writes data.yaml without a `path`: all places are below its folder, which may be moved as a whole.
void write_data_yaml(const std::vector<std::string>& classes, const std::vector<Split>& splits,
                     const fs::path& folder, std::string_view above) {
  YAML::Emitter yaml;
  yaml << YAML::BeginMap;
  for (const Split split : splits)
    yaml << YAML::Key << std::string(enum_name(split)) << YAML::Value
         << fmt::format("{}{}", above, enum_name(split));
  yaml << YAML::Key << "names" << YAML::Value << YAML::BeginSeq;
  for (const auto& name : classes) yaml << YAML::DoubleQuoted << name;
  yaml << YAML::EndSeq << YAML::EndMap;
  write_atomically(folder / "data.yaml", std::string(yaml.c_str()) + '\n');
}

ImageName name_of_file(const fs::path& image) {
  return {image.stem().string(), image.extension().string()};
}

/// The ending of an image's name by its content; empty where it is of no common kind.
std::string ending_of_content(const fs::path& image) {
  constexpr uint64_t beginning = 32;
  switch (image_format(read_stored(image, 0, beginning))) {
    case ImageFormat::jpeg: return ".jpg";
    case ImageFormat::png: return ".png";
    case ImageFormat::webp: return ".webp";
    case ImageFormat::bmp: return ".bmp";
    case ImageFormat::other: break;
  }
  return "";
}

}  // namespace

ImageName name_by_content(const fs::path& image) {
  if (is_image_name(image)) return name_of_file(image);
  std::string ending = ending_of_content(image);
  if (ending.empty()) {
    throw InputError("the name of this image does not end as an image's, and no reader would find it",
                     image.string(), "Store it as .jpg or .png.");
  }
  return {image.filename().string(), std::move(ending)};
}

std::string yolo_labels(const ImageRecord& image) {
  std::string text;
  const double width = image.width, height = image.height;
  for (const Annotation& a : image.annotations) {
    if (a.crowd) continue;
    text += fmt::format("{} {:.8g} {:.8g} {:.8g} {:.8g}\n", a.class_id, (double{a.x1} + a.x2) / 2 / width,
                        (double{a.y1} + a.y2) / 2 / height, (double{a.x2} - a.x1) / width,
                        (double{a.y2} - a.y1) / height);
  }
  return text;
}

std::string what_is_lost(const Dataset& dataset, WrittenFormat format) {
  const WrittenLabels labels = labels_of(format);
  size_t crowds = 0, difficult = 0;
  for (const auto& image : dataset.images) {
    for (const auto& a : image.annotations) {
      crowds += a.crowd;
      difficult += a.difficult;
    }
  }
  std::string text;
  if (!labels.crowds && crowds > 0)
    text = fmt::format("{} left out: {} labels have none", counted(crowds, "crowd is", "crowds are"),
                       labels.whose);
  if (difficult > 0) {
    text += fmt::format("{}{} 'difficult', which {} labels do not have", text.empty() ? "" : "\n",
                        counted(difficult, "object loses its mark", "objects lose their mark"), labels.whose);
  }
  return text;
}

std::string convert_split(const Dataset& dataset, Split split, const ConvertOptions& options) {
  const fs::path images = options.folder / "images" / enum_name(split);
  make_folder(images);
  const auto labels = label_writer(options, split);
  FileNames names;
  for (const ImageRecord& image : dataset.images) {
    const bool by_ending = labels_of(options.format).by_ending;
    const fs::path name = names.of(by_ending ? name_by_content(image.file) : name_of_file(image.file));
    place_image(image.file, images / name, options.copy);
    labels->add(image, name);
  }
  flush_folder(images);
  labels->finish(dataset.classes);
  return what_is_lost(dataset, options.format);
}

void write_names(const std::vector<std::string>& classes, const std::vector<Split>& splits,
                 const ConvertOptions& options) {
  if (labels_of(options.format).names_file) write_data_yaml(classes, splits, options.folder, "images/");
}

void write_names_of_shards(const std::vector<std::string>& classes, const std::vector<Split>& splits,
                           const fs::path& folder) {
  write_data_yaml(classes, splits, folder, "");
}

void check_outside(const DataOptions& data, const fs::path& folder) {
  std::error_code failed;
  const fs::path out = without_slash(fs::absolute(folder, failed));
  for (const Split split : given_splits(data)) {
    for (const std::string& place : listed_places(data.place(split))) {
      const fs::path images = real_path(find_below(place, {data.root}));
      if (!fs::is_directory(images, failed) || !lies_in(out, images)) continue;
      const fs::path beside = images.parent_path() / out.filename();
      throw InputError(
          fmt::format("this lies in {}, a folder of the data set, which would have its images twice then",
                      images.string()),
          folder.string(),
          fmt::format("Name a folder beside it: --out {}", shell_path(fs::proximate(beside))));
    }
  }
}

void check_empty_folder(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder, error) && !(fs::is_directory(folder, error) && fs::is_empty(folder, error))) {
    throw InputError("this already exists and is not an empty folder", folder.string(),
                     "Name a folder that does not exist yet.");
  }
  check_folder(folder, "--out");
}

void make_empty_folder(const fs::path& folder) {
  check_empty_folder(folder);
  make_folder(folder);
}

}  // namespace brightnet
