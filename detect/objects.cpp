#include "detect/objects.h"

#include <algorithm>
#include <ranges>

namespace brightnet {

std::vector<ScoredBox> objects_in_image(std::vector<Detection> candidates, const NmsOptions& nms, int width,
                                        int height, const InputFit& fit) {
  const Placement placement = place(width, height, fit);
  const float input_w = fit.size.width, input_h = fit.size.height;
  const float w = width, h = height;
  const float across = input_w / (placement.scale_x * w), down = input_h / (placement.scale_y * h);
  for (Box& box : std::views::transform(candidates, &Detection::box)) {
    box.x = (box.x - placement.offset_x / input_w) * across;
    box.y = (box.y - placement.offset_y / input_h) * down;
    box.w *= across;
    box.h *= down;
  }
  std::vector<ScoredBox> objects;
  for (const auto& [box, class_id, score] : non_max_suppression(candidates, nms)) {
    objects.push_back({(box.x - box.w / 2) * w, (box.y - box.h / 2) * h, (box.x + box.w / 2) * w,
                       (box.y + box.h / 2) * h, class_id, score});
  }
  return objects;
}

std::vector<ScoredBox> cut_at_border(std::vector<ScoredBox> boxes, int width, int height) {
  const float w = width, h = height;
  for (ScoredBox& box : boxes) {
    box.x1 = std::clamp(box.x1, 0.0f, w);
    box.y1 = std::clamp(box.y1, 0.0f, h);
    box.x2 = std::clamp(box.x2, 0.0f, w);
    box.y2 = std::clamp(box.y2, 0.0f, h);
  }
  std::erase_if(boxes, [](const ScoredBox& box) { return box.x2 <= box.x1 || box.y2 <= box.y1; });
  return boxes;
}

}  // namespace brightnet
