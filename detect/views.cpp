#include "detect/views.h"

#include <algorithm>
#include <cmath>

#include "kernels/math/iou.h"

namespace brightnet {
namespace {

/// IoU from which boxes of two views are taken for the same object (Solovyev et al. 2021, section 3).
constexpr float same_object = 0.55f;

}  // namespace

std::vector<InferenceView> augmented_views(const InputSize& size, int stride) {
  std::vector<InferenceView> views;
  for (const double scale : {1.0, 0.83, 1.17}) {
    const auto scaled = [&](int side) {
      return std::max(stride, static_cast<int>(std::lround(scale * side / stride)) * stride);
    };
    const InputSize own(scaled(size.height), scaled(size.width));
    const bool is_known =
        std::any_of(views.begin(), views.end(), [&](const auto& view) { return view.size == own; });
    if (is_known) continue;  // happens with a small input
    views.push_back({own, false});
    views.push_back({own, true});
  }
  return views;
}

namespace {

/// The boxes of one object: their mean, weighted by their scores.
struct FusedBox {
  float score = 0;  // sum of the boxes' scores
  int count = 0, class_id = 0;
  float x1 = 0, y1 = 0, x2 = 0, y2 = 0;  // sums, weighted by the scores

  void add(const ScoredBox& box) {
    score += box.score;
    ++count;
    x1 += box.score * box.x1, y1 += box.score * box.y1;
    x2 += box.score * box.x2, y2 += box.score * box.y2;
  }
  Box box() const {
    return {(x1 + x2) / 2 / score, (y1 + y2) / 2 / score, (x2 - x1) / score, (y2 - y1) / score};
  }
};

}  // namespace

std::vector<ScoredBox> merge_views(std::vector<ScoredBox> boxes, const NmsOptions& nms, int views) {
  std::stable_sort(boxes.begin(), boxes.end(),
                   [](const auto& a, const auto& b) { return a.score > b.score; });
  std::vector<FusedBox> fused;
  for (const ScoredBox& box : boxes) {
    const Box own{(box.x1 + box.x2) / 2, (box.y1 + box.y2) / 2, box.x2 - box.x1, box.y2 - box.y1};
    FusedBox* nearest = nullptr;
    float most = same_object;
    for (FusedBox& other : fused) {
      if (!nms.class_agnostic && other.class_id != box.class_id) continue;
      if (const float overlap = iou(own, other.box()); overlap > most) {
        most = overlap;
        nearest = &other;
      }
    }
    if (!nearest) {
      nearest = &fused.emplace_back();
      nearest->class_id = box.class_id;
    }
    nearest->add(box);
  }
  std::vector<Detection> candidates;
  for (const FusedBox& one : fused)
    candidates.push_back({one.box(), one.class_id, one.score / std::max(views, one.count)});
  std::vector<ScoredBox> merged;
  for (const auto& [box, class_id, score] : non_max_suppression(candidates, nms)) {
    merged.push_back(
        {box.x - box.w / 2, box.y - box.h / 2, box.x + box.w / 2, box.y + box.h / 2, class_id, score});
  }
  return merged;
}

}  // namespace brightnet
