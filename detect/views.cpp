#include "detect/views.h"

#include <algorithm>
#include <cmath>

namespace brightnet {

std::vector<InferenceView> augmented_views(const InputSize& size, int stride) {
  std::vector<InferenceView> views;
  for (const double scale : {1.0, 0.83, 0.67}) {
    const auto scaled = [&](int side) {
      return std::max(stride, static_cast<int>(std::lround(scale * side / stride)) * stride);
    };
    const InputSize own(scaled(size.height), scaled(size.width));
    const bool is_known =
        std::any_of(views.begin(), views.end(), [&](const auto& view) { return view.size == own; });
    if (is_known) continue;  // of a small input
    views.push_back({own, false});
    views.push_back({own, true});
  }
  return views;
}

std::vector<ScoredBox> merge_views(std::span<const ScoredBox> boxes, const NmsOptions& nms, int width,
                                   int height) {
  const auto w = static_cast<float>(width), h = static_cast<float>(height);
  std::vector<Detection> candidates;
  for (const auto& [x1, y1, x2, y2, class_id, score] : boxes)
    candidates.push_back(
        {{(x1 + x2) / 2 / w, (y1 + y2) / 2 / h, (x2 - x1) / w, (y2 - y1) / h}, class_id, score});
  std::vector<ScoredBox> merged;
  for (const auto& [box, class_id, score] : non_max_suppression(candidates, nms)) {
    merged.push_back({(box.x - box.w / 2) * w, (box.y - box.h / 2) * h, (box.x + box.w / 2) * w,
                      (box.y + box.h / 2) * h, class_id, score});
  }
  return merged;
}

}  // namespace brightnet
