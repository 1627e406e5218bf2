#include "data/problems.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"

namespace brightnet {
namespace {

using Kind = DataProblem::Kind;

struct KindText {
  std::string_view name;
  std::string_view one;   // "1 …"
  std::string_view many;  // "12 …"
  std::string_view done;  // what was done about it
  bool detailed = false;  // the names alone do not say enough
};

constexpr std::string_view stops = "which stops the training";

// No default: the compiler names a kind that has no text.
constexpr KindText text_of(Kind kind) {
  switch (kind) {
    case Kind::no_images: return {"no_images", "split has no image", "splits have no image", stops, true};
    case Kind::no_labels: return {"no_labels", "split has no labels", "splits have no labels", stops, true};
    case Kind::no_classes:
      return {"no_classes", "split has no classes", "splits have no classes", stops, true};
    case Kind::missing_image:
      return {"missing_image", "listed image is missing", "listed images are missing", "skipped"};
    case Kind::too_large_image:
      return {"too_large_image", "image is larger than data.max_pixels",
              "images are larger than data.max_pixels", "skipped", true};
    case Kind::undecodable_image:
      return {"undecodable_image", "image cannot be decoded", "images cannot be decoded", "skipped", true};
    case Kind::truncated_image:
      return {"truncated_image", "image is truncated or damaged", "images are truncated or damaged",
              "skipped"};
    case Kind::listed_twice:
      return {"listed_twice", "image is listed more than once", "images are listed more than once",
              "read as one with the boxes of all", true};
    case Kind::other_labels:
      return {"other_labels", "image has other labels in another split",
              "images have other labels in another split", "those of the first split are used", true};
    case Kind::unknown_ending:
      return {"unknown_ending", "labelled file does not have the extension of an image",
              "labelled files do not have the extension of an image", "not read", true};
    case Kind::no_label_file:
      return {"no_label_file", "image has no label file", "images have no label file", "kept as background"};
    case Kind::unreadable_labels:
      return {"unreadable_labels", "label file cannot be read", "label files cannot be read", stops, true};
    case Kind::unused_labels:
      return {"unused_labels", "label file belongs to no image", "label files belong to no image",
              "not used"};
    case Kind::shared_labels:
      return {"shared_labels", "label file belongs to images of two splits",
              "label files belong to images of two splits", "used for both", true};
    case Kind::zero_area_box: return {"zero_area_box", "box has no area", "boxes have no area", "dropped"};
    case Kind::outside_box:
      return {"outside_box", "box reaches outside its image", "boxes reach outside their images",
              "clipped, or dropped where nothing is left"};
    case Kind::unknown_class:
      return {"unknown_class", "label has an unknown class", "labels have an unknown class", stops, true};
    case Kind::unmapped_class:
      return {"unmapped_class", "class of the labels is not in data.target_class_mapping",
              "classes of the labels are not in data.target_class_mapping", "dropped", true};
    case Kind::unlisted_class:
      return {"unlisted_class", "class of the labels is not chosen (data.classes, data.map)",
              "classes of the labels are not chosen (data.classes, data.map)", "dropped", true};
    case Kind::malformed_label:
      return {"malformed_label", "label is malformed", "labels are malformed", stops, true};
    case Kind::triangle:
      return {"triangle", "line of 7 numbers could be a box with a score and an id",
              "lines of 7 numbers could be boxes with scores and ids", "read as a class and three points"};
    case Kind::polygon:
      return {"polygon", "object is outlined by a polygon", "objects are outlined by polygons",
              "read as the box around it"};
    case Kind::rotated_box:
      return {"rotated_box", "box is rotated", "boxes are rotated", "read as the upright boxes around them"};
    case Kind::duplicate_box:
      return {"duplicate_box", "box is there twice", "boxes are there twice", "kept once"};
    case Kind::turned_boxes:
      return {"turned_boxes", "image is labelled without its EXIF orientation",
              "images are labelled without their EXIF orientation",
              "EXIF orientation is applied to the boxes too"};
    case Kind::other_size:
      return {"other_size", "image size differs from the size in its labels",
              "images have another size than their labels claim",
              "boxes taken as pixels of the image as it is", true};
  }
  return {};
}

}  // namespace

std::string_view enum_name(Kind kind) {
  return text_of(kind).name;
}

bool stops_training(Kind kind) {
  return text_of(kind).done == stops;
}

std::string summarize(const std::vector<DataProblem>& problems) {
  constexpr size_t named = 3;
  std::string summary;
  for (const Kind kind : enum_values<Kind>()) {
    const KindText text = text_of(kind);
    size_t count = 0;
    std::string names;
    for (const auto& problem : problems) {
      if (problem.kind != kind || ++count > named) continue;
      names += (count > 1 ? ", " : "") + problem.where;
      if (text.detailed && !problem.detail.empty()) names += " (" + problem.detail + ')';
    }
    if (count == 0) continue;
    if (!summary.empty()) summary += '\n';
    summary += fmt::format("{}, {}: {}", counted(count, text.one, text.many), text.done, names);
    if (count > named) summary += fmt::format(" and {} more", count - named);
  }
  return summary;
}

void ProblemLog::add(Kind kind, const std::string& where, const std::string& detail,
                     const std::string& remedy) {
  if (!lenient_ && stops_training(kind)) throw InputError(detail, where, remedy);
  problems_.push_back({kind, where, detail});
}

}  // namespace brightnet
