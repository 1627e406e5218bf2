#include "detect/outputs/coco_ids.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json.h"
#include "core/text.h"
#include "data/formats/json_file.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

std::optional<int64_t> number_of(const std::string& stem) {
  const auto number = parse_integer<int64_t>(stem);
  return number >= 0 ? number : std::nullopt;
}

/// Empty unless every file has a number of its own.
std::map<std::string, int64_t> numbers_of(const std::vector<fs::path>& files) {
  std::map<std::string, int64_t> images;
  std::set<int64_t> used;
  for (const fs::path& file : files) {
    const auto number = is_video_name(file) ? std::nullopt : number_of(file.stem().string());
    if (!number || !used.insert(*number).second) return {};
    images[file.string()] = *number;
  }
  return images;
}

/// COCO's 80 classes as darknet, and everybody after it, orders them; some names differ between the lists
/// in use.
bool are_cocos(const std::vector<std::string>& names) {
  return names.size() == 80 && names[0] == "person" && names[40] == "wine glass" && names[79] == "toothbrush";
}

/// Ids 1 … 90 are in use but for these.
std::vector<int64_t> cocos_categories() {
  constexpr std::array<int64_t, 10> unused{12, 26, 29, 30, 45, 66, 68, 69, 71, 83};
  std::vector<int64_t> ids;
  for (int64_t id = 1; id <= 90; ++id) {
    if (std::find(unused.begin(), unused.end(), id) == unused.end()) ids.push_back(id);
  }
  return ids;
}

ParsedJson read_annotations(const fs::path& file) {
  // The annotations themselves are most of the file, and not of interest.
  ParsedJson document = read_json(file, {"annotations"});
  if (document.is_object() && document["images"].is_array() && document["categories"].is_array())
    return document;
  throw InputError("this file has no lists 'images' and 'categories'", file.string(),
                   "COCO's instances files have them.");
}

}  // namespace

CocoIds::CocoIds(const std::vector<fs::path>& files, const std::vector<std::string>& class_names)
    : images_(numbers_of(files)) {
  if (are_cocos(class_names)) {
    categories_ = cocos_categories();
    return;
  }
  for (size_t i = 1; i <= class_names.size(); ++i) categories_.push_back(static_cast<int64_t>(i));
}

CocoIds::CocoIds(const fs::path& annotations, const std::vector<std::string>& class_names)
    : annotations_(annotations) {
  const ParsedJson document = read_annotations(annotations);
  std::map<std::string, int64_t> categories;
  try {
    for (const auto& image : document["images"]) {
      const fs::path file_name = image.at("file_name").get<std::string>();
      of_name_[file_name.filename().string()].push_back(annotated_.size());
      of_path_[file_name.lexically_normal().string()].push_back(annotated_.size());
      annotated_.push_back(
          {file_name, whole_number<int64_t>(image.at("id")), json_size(image, "width", "height")});
    }
    for (const auto& category : document["categories"])
      categories[category.at("name")] = whole_number<int64_t>(category.at("id"));
  } catch (const nlohmann::json::exception&) {
    throw InputError("an image or category of this file has no id, or no name", annotations.string());
  }
  std::vector<std::string> known;
  for (const auto& [name, id] : categories) known.push_back(name);
  for (const std::string& name : class_names) {
    const auto found = categories.find(name);
    if (found == categories.end()) {
      const std::string nearest = nearest_word(name, known);
      throw InputError("the model's class '" + name + "' is not among the categories", annotations.string(),
                       nearest.empty() ? "" : "The nearest is '" + nearest + "'.");
    }
    categories_.push_back(found->second);
  }
}

int64_t CocoIds::image(const Frame& frame) const {
  if (annotations_.empty()) {
    const auto found = images_.find(frame.file);
    return found == images_.end() ? frame.place : found->second;
  }
  return annotated(frame).id;
}

cv::Size CocoIds::stated_size(const Frame& frame) const {
  return annotations_.empty() ? cv::Size() : annotated(frame).size;
}

const CocoIds::AnnotatedImage& CocoIds::annotated(const Frame& frame) const {
  // Before the work begins (DetectionOutput::check()) a video has no clip yet.
  if (frame.clip || is_video_name(frame.file)) {
    throw InputError("this file is read as a video, and annotations have no ids for a video's frames",
                     frame.file, "Leave it out of --source, or leave out --coco-ids.");
  }
  const auto found = of_name_.find(fs::path(frame.file).filename().string());
  if (found == of_name_.end()) {
    throw InputError("this image is not among those of " + annotations_.string(), frame.file,
                     "Give --coco-ids the annotations that belong to the images.");
  }
  return best_fit(found->second, frame.file);
}

const CocoIds::AnnotatedImage& CocoIds::best_fit(const Places& namesakes, const std::string& file) const {
  if (namesakes.size() == 1) return annotated_[namesakes[0]];  // its folder may have been moved
  const Places* const best = with_longest_ending(file);
  const auto is_same = [&](size_t image) { return annotated_[image].id == annotated_[best->front()].id; };
  if (best && std::all_of(best->begin(), best->end(), is_same)) return annotated_[best->front()];
  const Places& unclear = best ? *best : namesakes;
  const AnnotatedImage &one = annotated_[unclear[0]], &other = annotated_[unclear[1]];
  throw InputError(
      fmt::format("{} has several images of this name, among them {} (id {}) and {} (id {}), and the path "
                  "does not say which of them this is",
                  annotations_.string(), one.file_name.string(), one.id, other.file_name.string(), other.id),
      file, "Give --source so that the path of this image ends like its file_name.");
}

const CocoIds::Places* CocoIds::with_longest_ending(const std::string& file) const {
  const fs::path whole = fs::absolute(file).lexically_normal();
  for (auto first = whole.begin(); first != whole.end(); ++first) {
    fs::path ending;
    for (auto name = first; name != whole.end(); ++name) ending /= *name;
    if (const auto found = of_path_.find(ending.string()); found != of_path_.end()) return &found->second;
  }
  return nullptr;
}

}  // namespace brightnet
