#include "detect/merge_tiles.h"

#include <algorithm>
#include <map>

namespace brightnet {
namespace {

float area_of(const ScoredBox& box) {
  return (box.x2 - box.x1) * (box.y2 - box.y1);
}

float match(const ScoredBox& a, const ScoredBox& b, TileMatch by) {
  const float width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  const float height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  if (width <= 0 || height <= 0) return 0;
  const float both = width * height;
  switch (by) {
    case TileMatch::ios: return both / std::min(area_of(a), area_of(b));
    case TileMatch::iou: return both / (area_of(a) + area_of(b) - both);
  }
  return 0;
}

/// Whether the best box grows around those that match it.
bool grows(TileMerge merge) {
  switch (merge) {
    case TileMerge::nmm: return true;
    case TileMerge::nms: return false;
  }
  return false;
}

void grow(ScoredBox& box, const ScoredBox& around) {
  box.x1 = std::min(box.x1, around.x1);
  box.y1 = std::min(box.y1, around.y1);
  box.x2 = std::max(box.x2, around.x2);
  box.y2 = std::max(box.y2, around.y2);
}

/// A box with less than this share of the best one's score does not widen it. The parts of an object that an edge has cut
/// score alike; an evaluation keeps boxes down to 0.001, some of which are around anything.
constexpr float min_relative_score = 0.5f;

/// Merges boxes that come best first.
std::vector<ScoredBox> merged(const std::vector<ScoredBox>& boxes, const TileOptions& options) {
  std::vector<ScoredBox> kept;
  std::vector<bool> taken(boxes.size(), false);
  for (size_t i = 0; i < boxes.size(); ++i) {
    if (taken[i]) continue;
    ScoredBox grown = boxes[i];
    for (size_t j = i + 1; j < boxes.size(); ++j) {
      if (taken[j] || match(boxes[i], boxes[j], options.match) < options.threshold) continue;
      taken[j] = true;
      if (grows(options.merge) && boxes[j].score >= min_relative_score * boxes[i].score &&
          match(grown, boxes[j], options.match) >= options.threshold)
        grow(grown, boxes[j]);
    }
    kept.push_back(grown);
  }
  return kept;
}

}  // namespace

std::vector<ScoredBox> merge_tiles(std::vector<ScoredBox> boxes, const TileOptions& options, int most,
                                   bool class_agnostic) {
  const auto better = [](const ScoredBox& a, const ScoredBox& b) { return a.score > b.score; };
  std::stable_sort(boxes.begin(), boxes.end(), better);
  std::map<int, std::vector<ScoredBox>> of_class;
  for (const ScoredBox& box : boxes) of_class[class_agnostic ? 0 : box.class_id].push_back(box);
  boxes.clear();
  for (const auto& [class_id, all] : of_class) {
    const auto kept = merged(all, options);
    boxes.insert(boxes.end(), kept.begin(), kept.end());
  }
  std::stable_sort(boxes.begin(), boxes.end(), better);
  if (boxes.size() > static_cast<size_t>(most)) boxes.resize(most);
  return boxes;
}

}  // namespace brightnet
