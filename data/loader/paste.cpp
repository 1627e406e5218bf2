#include "data/loader/paste.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "data/augment/boxes.h"
#include "data/augment/cover.h"
#include "data/augment/crop.h"

namespace brightnet {
namespace {

/// The largest side of a pasted object, as a fraction of the input's.
constexpr float largest_pasted = 0.5f;
/// How many places are tried for an object.
constexpr int places_tried = 10;

// Width of the soft edge around a pasted box.
float edge_of(const cv::Rect2f& box) {
  return std::clamp(0.1f * std::min(box.width, box.height), 1.0f, 6.0f);
}

cv::Rect2f placed_box(const Annotation& object, const Placement& placement) {
  const float x1 = object.x1 * placement.scale_x + placement.offset_x;
  const float x2 = object.x2 * placement.scale_x + placement.offset_x;
  const float y1 = object.y1 * placement.scale_y + placement.offset_y;
  const float y2 = object.y2 * placement.scale_y + placement.offset_y;
  return {std::min(x1, x2), y1, std::abs(x2 - x1), y2 - y1};
}

// The largest overlap with another box, as a fraction of the smaller of the two.
float overlap_with(const std::vector<Truth>& truths, const cv::Rect2f& box, cv::Size2f input) {
  float largest = 0;
  for (const Truth& truth : truths) {
    const Box& b = truth.box;
    const cv::Rect2f other((b.x - b.w / 2) * input.width, (b.y - b.h / 2) * input.height, b.w * input.width,
                           b.h * input.height);
    largest = std::max(largest, (other & box).area() / std::min(other.area(), box.area()));
  }
  return largest;
}

std::optional<cv::Point2f> find_place(Random& random, const cv::Rect2f& box, const std::vector<Truth>& truths,
                                      cv::Size2f input, float most_overlap) {
  std::optional<cv::Point2f> found;
  for (int i = 0; i < places_tried; ++i) {
    const float x = random.uniform(0, input.width - box.width),
                y = random.uniform(0, input.height - box.height);
    if (!found && overlap_with(truths, {x, y, box.width, box.height}, input) <= most_overlap) found = {x, y};
  }
  return found;
}

// The whole pixels that the image covers.
cv::Rect covered_pixels(const ImageRecord& record, const Placement& placement) {
  const float a = placement.offset_x, b = a + placement.scale_x * record.width;
  const float c = placement.offset_y, d = c + placement.scale_y * record.height;
  const auto up = [](float edge) { return static_cast<int>(std::ceil(edge - 1e-3f)); };
  const auto down = [](float edge) { return static_cast<int>(std::floor(edge + 1e-3f)); };
  return {cv::Point(up(std::min(a, b)), up(c)), cv::Point(down(std::max(a, b)), down(d))};
}

}  // namespace

ObjectPaster::ObjectPaster(const Dataset& dataset, const AugmentOptions& options)
    : dataset_(dataset), options_(options) {
  if (options.copy_paste <= 0) return;
  for (size_t i = 0; i < dataset.images.size(); ++i) {
    const auto& objects = dataset.images[i].annotations;
    const bool usable = std::any_of(objects.begin(), objects.end(), [](const auto& o) { return !o.crowd; });
    if (usable) with_objects_.push_back(i);
  }
}

void ObjectPaster::operator()(Random& random, std::span<const uint32_t> nearby, const InputSize& size,
                              std::vector<PlacedImage>& images, std::vector<Truth>& truths) const {
  if (with_objects_.empty() || !random.chance(options_.copy_paste)) return;
  const uint32_t count = 1 + random.below(options_.copy_paste_count);
  const std::span<const uint32_t> sources = nearby.empty() ? with_objects_ : nearby;
  for (uint32_t i = 0; i < count; ++i) {
    paste_one(random, sources[random.below(sources.size())], size, images, truths);
  }
}

void ObjectPaster::paste_one(Random& random, int image, const InputSize& size,
                             std::vector<PlacedImage>& images, std::vector<Truth>& truths) const {
  const ImageRecord& record = dataset_.images[image];
  if (record.annotations.empty()) return;
  const Annotation& object = record.annotations[random.below(record.annotations.size())];
  const ImageDraw draw = draw_image(random, options_);
  Placement placement = place_crop(draw, record.width, record.height, size, options_.letterbox);
  cv::Rect2f box = placed_box(object, placement);
  const cv::Size2f input(static_cast<float>(size.width), static_cast<float>(size.height));
  if (object.crowd || std::min(box.width, box.height) < smallest_box_side) return;
  if (box.width > largest_pasted * input.width || box.height > largest_pasted * input.height) return;
  const auto place = find_place(random, box, truths, input, options_.copy_paste_overlap);
  if (!place) return;
  placement.offset_x += place->x - box.x;
  placement.offset_y += place->y - box.y;
  box = placed_box(object, placement);
  const cv::Rect covered(
      cv::Point(static_cast<int>(std::lround(box.x)), static_cast<int>(std::lround(box.y))),
      cv::Point(static_cast<int>(std::lround(box.br().x)), static_cast<int>(std::lround(box.br().y))));
  cover_boxes(truths, {&covered, 1}, size, options_.cutout_covered);
  place_boxes(record.annotations, placement, {box.x, box.y, box.br().x, box.br().y}, size,
              options_.min_visible, truths);
  const float edge = edge_of(box);
  const cv::Rect wanted(
      cv::Point(static_cast<int>(std::floor(box.x - edge)), static_cast<int>(std::floor(box.y - edge))),
      cv::Point(static_cast<int>(std::ceil(box.br().x + edge)),
                static_cast<int>(std::ceil(box.br().y + edge))));
  const cv::Rect part = wanted & cv::Rect(0, 0, size.width, size.height) & covered_pixels(record, placement);
  if (part.empty()) return;
  images.push_back({.image = image,
                    .map = homography_of(placement),
                    .part = part,
                    .seen = part,
                    .color = draw.color,
                    .blend = Blend::soft,
                    .box = box,
                    .edge = edge});
}

}  // namespace brightnet
