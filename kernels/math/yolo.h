// Assignment of ground truth to predictions, and the loss terms of one prediction: the rules of docs/loss.md.
#pragma once

#include <cmath>
#include <limits>

#include "core/box.h"
#include "kernels/math/box.h"
#include "kernels/math/hd.h"
#include "kernels/math/iou.h"
#include "kernels/math/loss.h"
#include "kernels/math/yolo_head.h"

namespace brightnet {

/// Ground-truth boxes of zero area, or with coordinates that are not fractions of an image, are ignored.
BRIGHTNET_HD bool is_usable(const Box& truth) {
  constexpr float far = 1e4f;  // comparisons with NaN are false
  return truth.w > 0 && truth.h > 0 && truth.w < far && truth.h < far && truth.x > -far && truth.x < far &&
         truth.y > -far && truth.y < far;
}

/// The cell of a centre; 1.0 and beyond belong to the last cell.
BRIGHTNET_HD int cell_of(float center, int grid) {
  const int cell = static_cast<int>(center * static_cast<float>(grid));
  return cell < 0 ? 0 : cell < grid ? cell : grid - 1;
}

/// The anchor of all heads whose size has the highest IoU with a truth's; the first of equals.
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

/// Whether a truth is assigned to an anchor: its best one, or any whose IoU exceeds iou_threshold.
BRIGHTNET_HD bool is_assigned(const YoloHead& head, const Box& truth, int anchor, int best) {
  return anchor == best ||
         (head.iou_threshold < 1.0f && size_iou(relative_anchor(head, anchor), truth) > head.iou_threshold);
}

/// Whether a truth is assigned to the prediction of `anchor` in the cell (column, row).
BRIGHTNET_HD bool is_assigned_in_cell(const YoloHead& head, const Box& truth, int anchor, int column, int row,
                                      int grid_w, int grid_h) {
  return is_usable(truth) && cell_of(truth.x, grid_w) == column && cell_of(truth.y, grid_h) == row &&
         is_assigned(head, truth, anchor, best_anchor(head, truth));
}

/// Weighted box loss of an assigned prediction, and its derivatives by the four logits.
struct BoxTerm {
  float value, iou;
  float derivative[4];
};

BRIGHTNET_HD BoxTerm box_term(const YoloHead& head, int anchor, int column, int row, int grid_w, int grid_h,
                              const float (&logits)[4], const Box& truth) {
  const DecodedBox decoded = decode_box_with_derivative(head, anchor, column, row, grid_w, grid_h, logits[0],
                                                        logits[1], logits[2], logits[3]);
  const BoxLoss loss = box_loss(head.iou_kind, decoded.box, truth, grid_w, grid_h);
  BoxTerm term{head.box_weight * loss.loss,
               loss.iou,
               {loss.gradient.x * decoded.derivative.x, loss.gradient.y * decoded.derivative.y,
                loss.gradient.w * decoded.derivative.w, loss.gradient.h * decoded.derivative.h}};
  for (float& derivative : term.derivative) {
    derivative *= head.box_weight;
    if (head.max_delta <= 0) continue;
    derivative = derivative < -head.max_delta  ? -head.max_delta
                 : derivative > head.max_delta ? head.max_delta
                                               : derivative;
  }
  return term;
}

/// Weighted loss of an assigned prediction for one class. `positive`: a truth of that class is assigned
/// to it.
BRIGHTNET_HD LossTerm class_term(const YoloHead& head, int class_id, float logit, bool positive) {
  const LossTerm term =
      focal_cross_entropy(logit, smooth_target(positive, head.label_smoothing), head.focal_gamma);
  const float weight =
      head.class_weight * (positive && head.class_weights ? head.class_weights[class_id] : 1.0f);
  return {weight * term.value, weight * term.derivative};
}

/// Target and weight of a prediction's objectness loss.
struct ObjectnessTarget {
  float target, weight;
};

/// For a prediction without a truth; best_iou is its highest IoU with any truth of the image.
BRIGHTNET_HD ObjectnessTarget unassigned_objectness(const YoloHead& head, float best_iou) {
  if (head.truth_threshold < 1.0f && best_iou > head.truth_threshold) return {1.0f, head.objectness_weight};
  if (best_iou > head.ignore_threshold) return {0.0f, 0.0f};
  return {0.0f, head.objectness_weight * head.negative_weight};
}

/// For a prediction with a truth; `iou` is that of the two.
BRIGHTNET_HD ObjectnessTarget assigned_objectness(const YoloHead& head, float iou) {
  return {head.objectness_smooth ? iou : 1.0f, head.objectness_weight};
}

/// A logit below which no objectness exceeds the threshold, rounding included. For the host.
inline float logit_below(float threshold) {
  if (!(threshold > 0)) return -std::numeric_limits<float>::infinity();
  if (threshold >= 1) return std::numeric_limits<float>::infinity();
  const double p = threshold;
  return static_cast<float>(std::log(p / (1 - p))) - 1e-3f;
}

}  // namespace brightnet
