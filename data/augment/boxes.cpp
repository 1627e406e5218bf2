#include "data/augment/boxes.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace brightnet {
namespace {

Truth truth_of(const InputPart& box, const InputSize& size, int class_id) {
  const float w = size.width, h = size.height;
  return {{(box.left + box.right) / 2 / w, (box.top + box.bottom) / 2 / h, (box.right - box.left) / w,
           (box.bottom - box.top) / h},
          class_id};
}

// A box whose object ends where the image does may by rounding reach this many pixels farther.
constexpr float rounding = 0.01f;

bool lies_in(const InputPart& box, const InputPart& part) {
  return box.left >= part.left - rounding && box.top >= part.top - rounding &&
         box.right <= part.right + rounding && box.bottom <= part.bottom + rounding;
}

InputPart part_of(const cv::Rect2d& rectangle) {
  return {static_cast<float>(rectangle.x), static_cast<float>(rectangle.y),
          static_cast<float>(rectangle.br().x), static_cast<float>(rectangle.br().y)};
}

// A rectangle so large that clipping to it changes nothing.
constexpr double far_away = 1e6;
const cv::Rect2d everywhere(-far_away, -far_away, 2 * far_away, 2 * far_away);

// Points on the ellipse in a rectangle; between two of them it bulges by 0.1 % of its half-axes.
std::vector<cv::Point2d> ellipse_in(const cv::Rect2d& box) {
  constexpr int count = 64;
  std::vector<cv::Point2d> points;
  for (int i = 0; i < count; ++i) {
    const double angle = 2 * std::numbers::pi * i / count;
    points.emplace_back(box.x + box.width * (1 + std::cos(angle)) / 2,
                        box.y + box.height * (1 + std::sin(angle)) / 2);
  }
  return points;
}

}  // namespace

void place_boxes(const std::vector<Annotation>& annotations, const Placement& placement,
                 const InputPart& part, const InputSize& size, float min_visible,
                 std::vector<Truth>& truths) {
  for (const Annotation& object : annotations) {
    if (object.crowd) continue;
    float x1 = object.x1 * placement.scale_x + placement.offset_x;
    float x2 = object.x2 * placement.scale_x + placement.offset_x;
    if (placement.scale_x < 0) std::swap(x1, x2);
    float y1 = object.y1 * placement.scale_y + placement.offset_y;
    float y2 = object.y2 * placement.scale_y + placement.offset_y;
    if (placement.scale_y < 0) std::swap(y1, y2);
    const float left = std::max(x1, part.left), right = std::min(x2, part.right);
    const float top = std::max(y1, part.top), bottom = std::min(y2, part.bottom);
    const float width = right - left, height = bottom - top;
    if (width < smallest_box_side || height < smallest_box_side) continue;
    const bool hidden = width * height < min_visible * (x2 - x1) * (y2 - y1);
    if (hidden && !lies_in({x1, y1, x2, y2}, part)) continue;
    truths.push_back(truth_of({left, top, right, bottom}, size, object.class_id));
  }
}

void place_boxes(const std::vector<Annotation>& annotations, const Placement& placement,
                 const InputSize& size, std::vector<Truth>& truths) {
  const InputPart whole{0, 0, static_cast<float>(size.width), static_cast<float>(size.height)};
  place_boxes(annotations, placement, whole, size, 0, truths);
}

void place_boxes(const std::vector<Annotation>& annotations, const Homography& map, WarpedBoxes rule,
                 const InputPart& part, const InputSize& size, float min_visible,
                 std::vector<Truth>& truths) {
  if (const auto placement = placement_of(map))
    return place_boxes(annotations, *placement, part, size, min_visible, truths);
  const cv::Rect2d limits(cv::Point2d(part.left, part.top), cv::Point2d(part.right, part.bottom));
  for (const Annotation& object : annotations) {
    if (object.crowd) continue;
    const cv::Rect2d box(cv::Point2d(object.x1, object.y1), cv::Point2d(object.x2, object.y2));
    const auto corners = corners_of(box);
    const auto visible = project(map, corners, limits);
    if (visible.size() < 3) continue;
    const auto all = project(map, corners, everywhere);
    const bool hidden = area_of(visible) < static_cast<double>(min_visible) * area_of(all);
    if (hidden && !lies_in(part_of(bounds_of(all)), part)) continue;
    cv::Rect2d seen = bounds_of(visible);
    switch (rule) {
      case WarpedBoxes::ellipse: seen &= bounds_of(project(map, ellipse_in(box), everywhere)); break;
      case WarpedBoxes::corners: break;
    }
    const double smallest = smallest_box_side;
    if (seen.width < smallest || seen.height < smallest) continue;
    truths.push_back(truth_of(part_of(seen), size, object.class_id));
  }
}

void clip_boxes(std::vector<Truth>& truths, const InputPart& part, const InputSize& size, float min_visible) {
  std::vector<Annotation> boxes;
  const float w = size.width, h = size.height;
  for (const Truth& truth : truths) {
    const Box& box = truth.box;
    Annotation& object = boxes.emplace_back();
    object.x1 = (box.x - box.w / 2) * w;
    object.x2 = (box.x + box.w / 2) * w;
    object.y1 = (box.y - box.h / 2) * h;
    object.y2 = (box.y + box.h / 2) * h;
    object.class_id = truth.class_id;
  }
  truths.clear();
  place_boxes(boxes, Placement{}, part, size, min_visible, truths);
}

}  // namespace brightnet
