// One pass over the candidates, best first, compares each with the boxes already kept, of its class or of all. Since a
// suppressed box suppresses no other, this equals the pairwise algorithm, and it can stop as soon as
// max_detections are kept.
#include "detect/nms.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "core/error.h"
#include "layers/model/model.h"

namespace brightnet {
namespace {

struct Corners {
  float x1, y1, x2, y2;
  float area() const { return (x2 - x1) * (y2 - y1); }
};

Corners corners(const Box& box) {
  return {box.x - box.w / 2, box.y - box.h / 2, box.x + box.w / 2, box.y + box.h / 2};
}

float iou(const Corners& a, const Corners& b) {
  const float w = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  const float h = std::min(a.y2, b.y2) - std::max(a.y1, b.y1);
  if (w <= 0 || h <= 0) return 0;
  const float intersection = w * h;
  return intersection / (a.area() + b.area() - intersection);
}

/// (d²/c²)^beta: 0 for equal centres, approaching 1 for boxes far apart.
float distance_term(const Corners& a, const Corners& b, float beta) {
  const float dx = (a.x1 + a.x2 - b.x1 - b.x2) / 2;
  const float dy = (a.y1 + a.y2 - b.y1 - b.y2) / 2;
  const float w = std::max(a.x2, b.x2) - std::min(a.x1, b.x1);
  const float h = std::max(a.y2, b.y2) - std::min(a.y1, b.y1);
  const float c2 = w * w + h * h;
  return c2 > 0 ? std::pow((dx * dx + dy * dy) / c2, beta) : 0.0f;
}

bool usable(const Detection& d, float threshold) {
  return d.score >= threshold && std::isfinite(d.score) && std::isfinite(d.box.x) && std::isfinite(d.box.y) &&
         std::isfinite(d.box.w) && std::isfinite(d.box.h) && d.box.w > 0 && d.box.h > 0;
}

NmsMethod method_of(NmsKind kind) {
  switch (kind) {
    case NmsKind::greedy: return NmsMethod::greedy;
    case NmsKind::diou: return NmsMethod::diou;
  }
  return {};
}

bool subtracts_distance(NmsMethod method) {
  switch (method) {
    case NmsMethod::greedy: return false;
    case NmsMethod::diou: return true;
    case NmsMethod::model: break;
  }
  BRIGHTNET_CHECK(false, "for_model() has not chosen the kind of NMS");
}

}  // namespace

void NmsOptions::fields(Fields& f) {
  f("kind", kind, "greedy: by IoU; diou: by IoU minus a centre distance term; model: the head's nms");
  f("iou", iou, "NMS IoU threshold: a box that overlaps a better one of its class by more is suppressed")
      .within(0, 1);
  f("beta", beta, "exponent of the distance term of diou; model uses the head's nms_beta").above(0);
  f("score", score, "confidence threshold: candidates with a lower score are discarded").within(0, 1);
  f("max_detections", max_detections, "maximum number of detections per image").at_least(1);
  f("class_agnostic", class_agnostic, "whether a box is also suppressed by a better one of another class");
}

NmsOptions for_model(NmsOptions options, const Model& model) {
  if (options.kind != NmsMethod::model) return options;
  options.kind = NmsMethod::greedy;
  for (const auto& layer : model.layers) {
    const auto* yolo = std::get_if<YoloAttributes>(&layer.attributes);
    if (!yolo) continue;
    options.kind = method_of(yolo->nms);
    options.beta = yolo->nms_beta;
  }
  return options;
}

std::vector<Detection> non_max_suppression(const std::vector<Detection>& candidates,
                                           const NmsOptions& options) {
  const bool diou = subtracts_distance(options.kind);
  std::vector<int> order;
  order.reserve(candidates.size());
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (usable(candidates[i], options.score)) order.push_back(static_cast<int>(i));
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return candidates[a].score > candidates[b].score; });

  std::unordered_map<int, std::vector<Corners>> kept_in_class;
  std::vector<Detection> kept;
  for (int i : order) {
    if (kept.size() >= static_cast<size_t>(options.max_detections)) break;
    const Detection& candidate = candidates[i];
    const Corners box = corners(candidate.box);
    std::vector<Corners>& better = kept_in_class[options.class_agnostic ? 0 : candidate.class_id];
    const bool suppressed = std::any_of(better.begin(), better.end(), [&](const Corners& other) {
      const float overlap = iou(box, other);
      // The distance term only lowers the overlap, so it is computed only for the few pairs above it.
      return overlap > options.iou &&
             (!diou || overlap - distance_term(box, other, options.beta) > options.iou);
    });
    if (suppressed) continue;
    better.push_back(box);
    kept.push_back(candidate);
  }
  return kept;
}

}  // namespace brightnet
