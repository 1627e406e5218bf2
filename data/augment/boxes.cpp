#include "data/augment/boxes.h"

#include <algorithm>

namespace brightnet {

void place_boxes(const std::vector<Annotation>& annotations, const Placement& placement,
                 const InputPart& part, int size, float min_visible, std::vector<Truth>& truths) {
  const float side = static_cast<float>(size);
  for (const Annotation& object : annotations) {
    if (object.crowd) continue;
    float x1 = object.x1 * placement.scale_x + placement.offset_x;
    float x2 = object.x2 * placement.scale_x + placement.offset_x;
    if (placement.scale_x < 0) std::swap(x1, x2);
    const float y1 = object.y1 * placement.scale_y + placement.offset_y;
    const float y2 = object.y2 * placement.scale_y + placement.offset_y;
    const float left = std::max(x1, part.left), right = std::min(x2, part.right);
    const float top = std::max(y1, part.top), bottom = std::min(y2, part.bottom);
    const float width = right - left, height = bottom - top;
    if (width < smallest_box_side || height < smallest_box_side) continue;
    if (width * height < min_visible * (x2 - x1) * (y2 - y1)) continue;
    truths.push_back({{(left + right) / 2 / side, (top + bottom) / 2 / side, width / side, height / side},
                      object.class_id});
  }
}

}  // namespace brightnet
