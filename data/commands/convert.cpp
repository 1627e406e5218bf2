#include "data/commands/convert.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "data/formats/labels.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

void check(const std::error_code& error, const fs::path& place) {
  if (!error) return;
  throw InputError("this cannot be written: " + error.message(), place.string(), "Name another folder.");
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  check(error, folder);
}

/// The image's file name, changed when another image of the split has the same stem: their labels would share
/// a file.
class FileNames {
 public:
  std::string of(const fs::path& image) {
    const std::string stem = image.stem().string();
    std::string name = stem;
    for (int& times = used_[stem]; !taken_.insert(name).second;)
      name = fmt::format("{}_{}", stem, ++times + 1);
    return name + image.extension().string();
  }

 private:
  std::set<std::string> taken_;
  std::map<std::string, int> used_;
};

void place_image(const fs::path& from, const fs::path& to, bool copy) {
  std::error_code error;
  if (copy) {
    fs::copy_file(from, to, error);
  } else {
    fs::create_symlink(fs::absolute(from).lexically_normal(), to, error);
  }
  check(error, to);
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

Json coco_annotation(const Annotation& a, size_t id, size_t image_id) {
  return {{"id", id},
          {"image_id", image_id},
          {"category_id", a.class_id + 1},
          {"bbox", {a.x1, a.y1, a.x2 - a.x1, a.y2 - a.y1}},
          {"area", a.area},
          {"iscrowd", a.crowd ? 1 : 0}};
}

std::string what_is_lost(const Dataset& dataset, bool yolo) {
  size_t crowds = 0, difficult = 0;
  for (const auto& image : dataset.images) {
    for (const auto& a : image.annotations) {
      crowds += a.crowd;
      difficult += a.difficult;
    }
  }
  std::string text;
  if (yolo && crowds > 0) {
    text = counted(crowds, "crowd is", "crowds are") + " left out: YOLO's labels have none";
  }
  if (difficult > 0) {
    text += fmt::format("{}{} 'difficult', which {} labels have not", text.empty() ? "" : "\n",
                        counted(difficult, "object loses its mark", "objects lose their mark"),
                        yolo ? "YOLO's" : "COCO's");
  }
  return text;
}

}  // namespace

std::string convert_split(const Dataset& dataset, Split split, const ConvertOptions& options) {
  const bool yolo = options.format == "yolo";
  const fs::path images = options.folder / "images" / split_name(split);
  const fs::path labels =
      options.folder / (yolo ? fs::path("labels") / split_name(split) : fs::path("annotations"));
  make_folder(images);
  make_folder(labels);
  FileNames names;
  Json image_list = Json::array(), annotations = Json::array(), categories = Json::array();
  for (const ImageRecord& image : dataset.images) {
    const fs::path name = names.of(image.file);
    place_image(image.file, images / name, options.copy);
    if (yolo) {
      fs::path file = labels / name;
      write_atomically(file.replace_extension(".txt"), yolo_labels(image));
      continue;
    }
    const size_t id = image_list.size() + 1;
    image_list.push_back(
        {{"id", id}, {"file_name", name.string()}, {"width", image.width}, {"height", image.height}});
    for (const Annotation& a : image.annotations)
      annotations.push_back(coco_annotation(a, annotations.size() + 1, id));
  }
  if (!yolo) {
    for (const auto& name : dataset.classes)
      categories.push_back({{"id", categories.size() + 1}, {"name", name}});
    const Json document{{"images", image_list}, {"annotations", annotations}, {"categories", categories}};
    write_atomically(labels / fmt::format("instances_{}.json", split_name(split)),
                     document.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n');
  }
  return what_is_lost(dataset, yolo);
}

void write_names(const std::vector<std::string>& classes, const std::vector<Split>& splits,
                 const ConvertOptions& options) {
  if (options.format != "yolo") return;
  YAML::Emitter yaml;
  yaml << YAML::BeginMap << YAML::Key << "path" << YAML::Value << fs::absolute(options.folder).string();
  for (const Split split : splits)
    yaml << YAML::Key << split_name(split) << YAML::Value << std::string("images/") + split_name(split);
  yaml << YAML::Key << "names" << YAML::Value << YAML::BeginSeq;
  for (const auto& name : classes) yaml << YAML::DoubleQuoted << name;
  yaml << YAML::EndSeq << YAML::EndMap;
  write_atomically(options.folder / "data.yaml", std::string(yaml.c_str()) + '\n');
}

void make_empty_folder(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(folder, error) && !(fs::is_directory(folder, error) && fs::is_empty(folder, error))) {
    throw InputError("there is something in this place", folder.string(),
                     "Name a folder that does not exist yet.");
  }
  make_folder(folder);
}

}  // namespace brightnet
