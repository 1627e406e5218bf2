#include "data/formats/coco_layout.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/files.h"
#include "data/formats/layout.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

constexpr const char* sections[] = {"images", "annotations", "categories"};

/// Whether a JSON file holds COCO's instances, judged by its beginning, since the whole file may be large.
bool is_instances_file(const fs::path& file) {
  if (file.extension() != ".json") return false;
  std::ifstream in = open_regular(file);
  std::string text(1 << 16, ' ');
  in.read(text.data(), std::ssize(text));
  text.resize(static_cast<size_t>(in.gcount()));
  return std::any_of(std::begin(sections), std::end(sections), [&](const char* key) {
    return text.find(fmt::format("\"{}\"", key)) != std::string::npos;
  });
}

/// The file of a folder's training images: the one named so, or the only one.
fs::path training_file(const fs::path& folder) {
  for (const char* below : {"annotations", "train", "."}) {
    std::vector<fs::path> files = files_in(folder / below, ".json");
    std::erase_if(files, [](const fs::path& file) { return !is_instances_file(file); });
    const auto named = [&](const char* word) {
      return std::find_if(files.begin(), files.end(), [&](const fs::path& file) {
        const std::string name = file.filename().string();
        return name.starts_with(word) && name.find("train") != std::string::npos;
      });
    };
    // COCO's own archive also has captions_train2017.json and person_keypoints_train2017.json.
    for (const char* word : {"instances", "train", ""}) {
      if (named(word) != files.end()) return named(word)->lexically_normal();
    }
    const auto of_other_split = [](const fs::path& file) {
      const std::string name = file.filename().string();
      return name.find("val") != std::string::npos || name.find("test") != std::string::npos;
    };
    if (files.size() == 1 && !of_other_split(files[0])) return files[0].lexically_normal();
  }
  return {};
}

}  // namespace

std::string recognize_coco(const fs::path& place, DataOptions& options) {
  const bool folder = fs::is_directory(place);
  const fs::path file = folder ? training_file(place) : is_instances_file(place) ? place : fs::path();
  if (file.empty()) return "";
  // The folder above annotations/, or above train/ where the images lie beside the file, as in Roboflow's exports.
  fs::path root = file.parent_path();
  const auto& names = split_names(Split::train);
  if (root.filename() == "annotations" ||
      std::find(names.begin(), names.end(), root.filename()) != names.end())
    root = root.parent_path();
  take_file(root, file, options);
  return folder ? "a folder with COCO JSON" : "COCO JSON";
}

}  // namespace brightnet
