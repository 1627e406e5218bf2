#include "data/augment/mosaic.h"

#include <algorithm>
#include <cmath>

namespace brightnet {
namespace {

// The translation along one axis; the image covers [offset, offset + scale · length].
float move(float scale, float offset, int length, bool before_centre, int centre, int size) {
  const float a = offset, b = offset + scale * static_cast<float>(length);
  const float inner =
      before_centre ? std::min(std::max(a, b), static_cast<float>(size)) : std::max(std::min(a, b), 0.0f);
  return static_cast<float>(centre) - inner;
}

}  // namespace

cv::Point draw_mosaic_centre(Random& random, int size) {
  const int low = static_cast<int>(std::ceil(mosaic_border * static_cast<float>(size)));
  const uint32_t range = static_cast<uint32_t>(std::max(1, size - 2 * low + 1));
  const int x = low + static_cast<int>(random.below(range));
  const int y = low + static_cast<int>(random.below(range));
  return {x, y};
}

cv::Rect mosaic_quadrant(int index, cv::Point centre, int size) {
  const bool right = index % 2, lower = index / 2;
  return {cv::Point(right ? centre.x : 0, lower ? centre.y : 0),
          cv::Point(right ? size : centre.x, lower ? size : centre.y)};
}

Placement move_to_quadrant(Placement placement, int image_width, int image_height, int index,
                           cv::Point centre, int size) {
  const bool right = index % 2, lower = index / 2;
  placement.offset_x += move(placement.scale_x, placement.offset_x, image_width, !right, centre.x, size);
  placement.offset_y += move(placement.scale_y, placement.offset_y, image_height, !lower, centre.y, size);
  return placement;
}

}  // namespace brightnet
