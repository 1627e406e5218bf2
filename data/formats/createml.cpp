// CreateML: one JSON file with a list of images, each with its objects,
//
//   [{"image": "a.jpg", "annotations": [{"label": "cat", "coordinates": {"x": 50, "y": 40, "width": 20, "height": 10}}]}]
//
// where x and y are the object's centre, in pixels. Roboflow exports it too (_annotations.createml.json). Other writers
// call the keys `imagefilename` and `annotation`.
//
// data.train, data.val or data.test is the file; images lie beside it or below data.root.
#include <fmt/format.h>

#include "core/files.h"
#include "data/formats/format.h"
#include "data/formats/json_file.h"
#include "data/formats/labels.h"
#include "data/formats/layout.h"
#include "data/formats/places.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;
using Kind = DataProblem::Kind;

std::optional<LabelledBox> createml_box(const ParsedJson& object, const std::string& where, ProblemLog& log) {
  LabelledBox box;
  box.where = where;
  box.class_name = json_text(object, "label");
  const ParsedJson& place = json_member(object, "coordinates");
  const auto x = json_number(place, "x"), y = json_number(place, "y"), width = json_number(place, "width"),
             height = json_number(place, "height");
  if (box.class_name.empty() || !x || !y || !width || !height) {
    log.add(Kind::malformed_label, where,
            "an object needs a 'label' and 'coordinates' with the numbers x, y, width and height");
    return std::nullopt;
  }
  box.x1 = *x - *width / 2;
  box.y1 = *y - *height / 2;
  box.x2 = *x + *width / 2;
  box.y2 = *y + *height / 2;
  box.empty = !(*width > 0 && *height > 0);
  return box;
}

std::unique_ptr<LabelSource> open_createml(const DataOptions& options, Split split, ProblemLog& log) {
  const fs::path file = split_file(options, split, annotations_file);
  const ParsedJson document = read_json(file);
  const std::vector<fs::path> folders = image_folders(file, options.root, split);
  if (!document.is_array())
    throw InputError("a list of images with their annotations was expected", file.string(),
                     "Check the data's format.");
  std::vector<LabelledImage> images;
  for (size_t i = 0; i < document.size(); ++i) {
    const std::string where = fmt::format("{}: [{}]", file.string(), i);
    std::string name = json_text(document[i], "image");
    if (name.empty()) name = json_text(document[i], "imagefilename");
    if (name.empty()) {
      log.add(Kind::malformed_label, where, "an entry needs an 'image', the name of its file");
      continue;
    }
    const char* key = document[i].contains("annotations") ? "annotations" : "annotation";
    const ParsedJson& objects = json_member(document[i], key);
    if (!objects.is_array()) {
      log.add(Kind::malformed_label, where, "an entry needs the list of its 'annotations'",
              "Of an image without objects it is empty.");
      continue;
    }
    LabelledImage& image = images.emplace_back();
    image.file = find_below(name, folders);
    for (const ParsedJson& object : objects) {
      if (auto box = createml_box(object, where, log)) image.boxes.push_back(std::move(*box));
    }
  }
  return std::make_unique<LabelsInMemory>(joined_entries(std::move(images)));
}

std::string recognize_createml(const fs::path& place, DataOptions& options) {
  const auto is_createml = [](const fs::path& file) {
    const std::string head = json_head(file);
    return has_key(head, "coordinates") && has_key(head, "label") &&
           head.find_first_of("[{") == head.find('[');
  };
  return take_json(place, is_createml, options) ? "CreateML's JSON" : "";
}

}  // namespace

DatasetFormat createml_format() {
  return {.name = "createml",
          .open = open_createml,
          .written_extension = "",
          .recognize = recognize_createml,
          .recognized_by = "CreateML's JSON"};
}

}  // namespace brightnet
