#include "data/formats/coco_document.h"

#include <algorithm>

#include "core/error.h"
#include "data/formats/format.h"
#include "data/formats/labels.h"
#include "data/formats/places.h"

namespace brightnet {

namespace fs = std::filesystem;

std::string coco_file_name(const ParsedJson& image) {
  return fs::path(json_text(image, "file_name")).lexically_normal().string();
}

bool lacks_box(const ParsedJson& annotation) {
  const auto box = annotation.find("bbox");
  return box == annotation.end() || box->is_null() || (box->is_array() && box->empty());
}

ParsedJson parse_coco(const fs::path& file, const std::set<std::string>& skip) {
  const auto keep = [&](int, ParsedJson::parse_event_t event, ParsedJson& parsed) {
    if (event == ParsedJson::parse_event_t::object_end && !lacks_box(parsed)) parsed.erase("segmentation");
    return event != ParsedJson::parse_event_t::key || !skip.contains(parsed.get_ref<const std::string&>());
  };
  ParsedJson document = read_json(file, keep);
  if (document.is_object()) return document;
  throw InputError(
      "an object with images, annotations and categories was expected", file.string(),
      "COCO's detection results and Label Studio's own JSON are lists: export COCO, YOLO or Pascal VOC there.");
}

ParsedJson read_coco(const fs::path& file) {
  ParsedJson document = parse_coco(file, {"segmentation", "licenses", "info"});
  const ParsedJson& annotations = coco_list(document, "annotations", file);
  if (std::any_of(annotations.begin(), annotations.end(), lacks_box))
    document = parse_coco(file, {"licenses", "info"});
  return document;
}

const ParsedJson& coco_list(const ParsedJson& document, const char* key, const fs::path& file) {
  const auto found = document.find(key);
  if (found == document.end() || !found->is_array()) {
    throw InputError(std::string("there is no list '") + key + "' in this file", file.string(),
                     "COCO's instances files have images, annotations and categories.");
  }
  return *found;
}

std::map<int64_t, std::string> coco_categories(const ParsedJson& document, const fs::path& file) {
  std::map<int64_t, std::string> names;
  for (const ParsedJson& category : coco_list(document, "categories", file)) {
    const auto id = json_integer(category, "id");
    const std::string name = json_text(category, "name");
    if (!id || name.empty()) throw InputError("a category has no id or no name", file.string());
    if (!names.emplace(*id, name).second)
      throw InputError("category id " + std::to_string(*id) + " is listed twice", file.string());
  }
  return names;
}

}  // namespace brightnet
