#include "data/augment/mosaic.h"

#include <algorithm>
#include <cmath>

namespace brightnet {
namespace {

// The translation along one axis; the image covers [offset, offset + scale · length].
float move(float scale, float offset, int length, bool before_centre, int centre, int size) {
  const float a = offset, b = offset + scale * length;
  const float inner =
      before_centre ? std::min(std::max(a, b), static_cast<float>(size)) : std::max(std::min(a, b), 0.0f);
  return centre - inner;
}

}  // namespace

cv::Point draw_mosaic_centre(Random& random, const InputSize& size) {
  const auto draw = [&](int side) {
    const int low = static_cast<int>(std::ceil(mosaic_border * side));
    return low + static_cast<int>(random.below(std::max(1, side - 2 * low + 1)));
  };
  const int x = draw(size.width);
  const int y = draw(size.height);
  return {x, y};
}

cv::Rect mosaic_quadrant(int index, cv::Point centre, const InputSize& size) {
  const bool right = index % 2, lower = index / 2;
  return {cv::Point(right ? centre.x : 0, lower ? centre.y : 0),
          cv::Point(right ? size.width : centre.x, lower ? size.height : centre.y)};
}

Placement move_to_quadrant(Placement placement, int image_width, int image_height, int index,
                           cv::Point centre, const InputSize& size) {
  const bool right = index % 2, lower = index / 2;
  placement.offset_x +=
      move(placement.scale_x, placement.offset_x, image_width, !right, centre.x, size.width);
  placement.offset_y +=
      move(placement.scale_y, placement.offset_y, image_height, !lower, centre.y, size.height);
  return placement;
}

Homography move_to_quadrant(const Homography& map, int image_width, int image_height, int index,
                            cv::Point centre, const InputSize& size) {
  if (const auto straight = placement_of(map))
    return homography_of(move_to_quadrant(*straight, image_width, image_height, index, centre, size));
  if (const auto turned = placement_of(transposed(map))) {
    const int mirrored = index / 2 + index % 2 * 2;
    return transposed(homography_of(move_to_quadrant(*turned, image_width, image_height, mirrored,
                                                     {centre.y, centre.x}, {size.width, size.height})));
  }
  constexpr int steps = 64;
  const bool right = index % 2, lower = index / 2;
  const cv::Point2d corner(right ? 0 : size.width, lower ? 0 : size.height),
      middle(size.width / 2.0, size.height / 2.0);
  const Homography to_image = map.inv();
  cv::Point2d inner = corner;
  for (int i = 0; i <= steps; ++i) {
    const cv::Point2d candidate = corner + (middle - corner) * (static_cast<double>(i) / steps);
    const auto at = project(to_image, candidate);
    if (!at || !cv::Rect2d(0, 0, image_width, image_height).contains(*at)) continue;
    inner = candidate;
    break;
  }
  return moved(map, cv::Point2d(centre) - inner);
}

}  // namespace brightnet
