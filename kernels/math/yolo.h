// Which prediction answers for which truth, and what the others are told: the rules of docs/loss.md, one
// truth or prediction at a time.
#pragma once

#include "core/box.h"
#include "kernels/math/box.h"
#include "kernels/math/hd.h"
#include "kernels/math/iou.h"
#include "kernels/yolo.h"

namespace brightnet {

/// Truths without an area, or with coordinates that are no fractions of an image, teach nothing.
BRIGHTNET_HD bool is_usable(const Box& truth) {
  constexpr float far = 1e4f;  // comparisons with NaN are false
  return truth.w > 0 && truth.h > 0 && truth.w < far && truth.h < far && truth.x > -far && truth.x < far &&
         truth.y > -far && truth.y < far;
}

/// The cell of a centre; 1.0 (and what lies beyond) belongs to the last one.
BRIGHTNET_HD int cell_of(float center, int grid) {
  const int cell = static_cast<int>(center * static_cast<float>(grid));
  return cell < 0 ? 0 : cell < grid ? cell : grid - 1;
}

/// The anchor of the whole model, over all heads, whose size fits a truth best; the first of equals.
BRIGHTNET_HD int best_anchor(const YoloHead& head, const Box& truth) {
  int best = 0;
  float best_iou = -1.0f;
  for (int a = 0; a < head.anchor_count; ++a) {
    const float fit = size_iou(relative_anchor(head, a), truth);
    if (fit > best_iou) {
      best_iou = fit;
      best = a;
    }
  }
  return best;
}

/// Whether a truth is assigned to an anchor: its best one, or any of more than iou_threshold.
BRIGHTNET_HD bool is_assigned(const YoloHead& head, const Box& truth, int anchor, int best) {
  return anchor == best ||
         (head.iou_threshold < 1.0f && size_iou(relative_anchor(head, anchor), truth) > head.iou_threshold);
}

/// What a prediction's objectness is compared with, and how much that counts.
struct ObjectnessTarget {
  float target, weight;
};

/// For a prediction that no truth is assigned to; best_iou is its highest with any truth of the image.
BRIGHTNET_HD ObjectnessTarget unassigned_objectness(const YoloHead& head, float best_iou) {
  if (head.truth_threshold < 1.0f && best_iou > head.truth_threshold) return {1.0f, head.objectness_weight};
  if (best_iou > head.ignore_threshold) return {0.0f, 0.0f};
  return {0.0f, head.objectness_weight * head.negative_weight};
}

/// For one that has a truth, which it overlaps by `iou`.
BRIGHTNET_HD ObjectnessTarget assigned_objectness(const YoloHead& head, float iou) {
  return {head.objectness_smooth ? iou : 1.0f, head.objectness_weight};
}

}  // namespace brightnet
