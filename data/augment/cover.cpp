#include "data/augment/cover.h"

#include <algorithm>

#include "data/augment/boxes.h"

namespace brightnet {
namespace {

cv::Rect2f pixels_of(const Box& box, float width, float height) {
  return {(box.x - box.w / 2) * width, (box.y - box.h / 2) * height, box.w * width, box.h * height};
}

// The area of the box under the rectangles, which may overlap: the sum over the cells between all
// their edges.
float covered_area(const cv::Rect2f& box, std::span<const cv::Rect2f> covers) {
  std::vector<float> xs, ys;
  for (const cv::Rect2f& cover : covers) {
    xs.insert(xs.end(), {cover.x, cover.br().x});
    ys.insert(ys.end(), {cover.y, cover.br().y});
  }
  std::sort(xs.begin(), xs.end());
  std::sort(ys.begin(), ys.end());
  float area = 0;
  for (size_t i = 0; i + 1 < xs.size(); ++i) {
    for (size_t j = 0; j + 1 < ys.size(); ++j) {
      const cv::Rect2f cell(cv::Point2f(xs[i], ys[j]), cv::Point2f(xs[i + 1], ys[j + 1]));
      const cv::Point2f middle = (cell.tl() + cell.br()) / 2;
      const bool hidden = std::any_of(covers.begin(), covers.end(),
                                      [&](const cv::Rect2f& cover) { return cover.contains(middle); });
      if (hidden) area += (cell & box).area();
    }
  }
  return area;
}

// The bounding box of what a rectangle leaves of a box.
cv::Rect2f rest_of(const cv::Rect2f& box, const cv::Rect2f& cover) {
  float left = box.x, right = box.br().x, top = box.y, bottom = box.br().y;
  const bool all_columns = cover.x <= left && cover.br().x >= right;
  const bool all_rows = cover.y <= top && cover.br().y >= bottom;
  if (all_columns && cover.y <= top) top = std::clamp(cover.br().y, top, bottom);
  if (all_columns && cover.br().y >= bottom) bottom = std::clamp(cover.y, top, bottom);
  if (all_rows && cover.x <= left) left = std::clamp(cover.br().x, left, right);
  if (all_rows && cover.br().x >= right) right = std::clamp(cover.x, left, right);
  return {left, top, right - left, bottom - top};
}

}  // namespace

cv::Rect draw_rectangle(Random& random, ValueRange sides, const InputSize& size) {
  const auto draw_side = [&](int whole) {
    const float side = random.uniform(sides.low, sides.high) * whole;
    return std::clamp(static_cast<int>(side), 1, whole);
  };
  const int width = draw_side(size.width), height = draw_side(size.height);
  const int x = random.below(size.width - width + 1);
  const int y = random.below(size.height - height + 1);
  return {x, y, width, height};
}

std::vector<cv::Rect> draw_cutout(Random& random, const AugmentOptions& options, const InputSize& size) {
  if (!random.chance(options.cutout)) return {};
  std::vector<cv::Rect> covers(1 + random.below(options.cutout_count));
  for (cv::Rect& cover : covers) cover = draw_rectangle(random, options.cutout_size, size);
  return covers;
}

void cover_boxes(std::vector<Truth>& truths, std::span<const cv::Rect> covers, const InputSize& size,
                 float most_covered) {
  const float w = size.width, h = size.height;
  std::erase_if(truths, [&](Truth& truth) {
    const cv::Rect2f box = pixels_of(truth.box, w, h);
    std::vector<cv::Rect2f> over;
    for (const cv::Rect& cover : covers) {
      if ((cv::Rect2f(cover) & box).area() > 0) over.emplace_back(cover);
    }
    if (over.empty()) return false;
    if (covered_area(box, over) > most_covered * box.area()) return true;
    cv::Rect2f rest = box;
    for (size_t round = 0; round < over.size(); ++round) {  // one may make another reach from side to side
      for (const cv::Rect2f& cover : over) rest = rest_of(rest, cover);
    }
    if (rest == box) return false;
    truth.box = {(rest.x + rest.width / 2) / w, (rest.y + rest.height / 2) / h, rest.width / w,
                 rest.height / h};
    return rest.width < smallest_box_side || rest.height < smallest_box_side;
  });
}

}  // namespace brightnet
