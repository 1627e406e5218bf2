#include "data/formats/coco_layout.h"

#include "data/formats/json_file.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

/// Whether a JSON file holds COCO's instances, judged by its beginning.
bool is_instances_file(const fs::path& file) {
  const std::string head = json_head(file);
  return has_key(head, "images") || has_key(head, "annotations");
}

}  // namespace

std::string recognize_coco(const fs::path& place, DataOptions& options) {
  // COCO's own archive also has captions_train2017.json and person_keypoints_train2017.json.
  if (!take_json(place, is_instances_file, options, {"instances"})) return "";
  return fs::is_directory(place) ? "a folder with COCO JSON" : "COCO JSON";
}

}  // namespace brightnet
