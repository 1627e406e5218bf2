#include "data/formats/policies.h"

#include <algorithm>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "data/image/turned_boxes.h"

namespace brightnet {
namespace {

using Kind = DataProblem::Kind;

std::string numbers(const LabelledBox& box) {
  return fmt::format("{:.6g} {:.6g} to {:.6g} {:.6g}", box.x1, box.y1, box.x2, box.y2);
}

}  // namespace

void boxes_to_pixels(LabelledImage& image, const ImageInfo& info, ProblemLog& log) {
  if (image.relative) {
    for (auto& box : image.boxes) {
      box.x1 *= info.shown.width;
      box.x2 *= info.shown.width;
      box.y1 *= info.shown.height;
      box.y2 *= info.shown.height;
    }
    return;
  }
  if (image.declared.empty() || image.declared == info.shown) return;
  if (drawn_as_stored(image.declared, info)) {
    for (auto& box : image.boxes) turn_box(box, info);
    log.add(Kind::turned_boxes, image.file.string(), "EXIF orientation " + std::to_string(info.orientation));
    return;
  }
  const auto size = [](cv::Size s) { return std::to_string(s.width) + 'x' + std::to_string(s.height); };
  log.add(Kind::other_size, image.file.string(), size(info.shown) + " instead of " + size(image.declared));
}

std::vector<Annotation> annotations_of(const LabelledImage& image, const ChosenClasses& classes,
                                       cv::Size shown, ProblemLog& log) {
  constexpr double rounding = 1.0;        // pixels; overhang from a writer's rounding is clipped silently
  constexpr double smallest_side = 0.01;  // pixels
  std::vector<Annotation> annotations;
  std::set<std::tuple<int, bool, double, double, double, double>> seen;
  for (const auto& box : image.boxes) {
    const std::optional<int> class_id = classes.find(box, log);
    if (!class_id) continue;
    if (box.empty || box.x2 - box.x1 < smallest_side || box.y2 - box.y1 < smallest_side) {
      log.add(Kind::zero_area_box, box.where, box.empty ? "its end is not after its start" : numbers(box));
      continue;
    }
    if (!seen.insert({*class_id, box.crowd, box.x1, box.y1, box.x2, box.y2}).second) {
      log.add(Kind::duplicate_box, box.where, numbers(box));
      continue;
    }
    Annotation a;
    a.x1 = static_cast<float>(std::clamp<double>(box.x1, 0, shown.width));
    a.y1 = static_cast<float>(std::clamp<double>(box.y1, 0, shown.height));
    a.x2 = static_cast<float>(std::clamp<double>(box.x2, 0, shown.width));
    a.y2 = static_cast<float>(std::clamp<double>(box.y2, 0, shown.height));
    a.class_id = *class_id;
    a.crowd = box.crowd;
    a.difficult = box.difficult;
    a.area = static_cast<float>(box.area.value_or(double{a.x2 - a.x1} * (a.y2 - a.y1)));
    const double overhang = std::max({-box.x1, -box.y1, box.x2 - shown.width, box.y2 - shown.height});
    const bool gone = a.x2 - a.x1 < smallest_side || a.y2 - a.y1 < smallest_side;
    if (overhang > rounding || gone) {
      log.add(Kind::outside_box, box.where,
              numbers(box) + " in " + std::to_string(shown.width) + 'x' + std::to_string(shown.height) +
                  (gone ? ", dropped" : ", clipped"));
    }
    if (!gone) annotations.push_back(a);
  }
  return annotations;
}

}  // namespace brightnet
