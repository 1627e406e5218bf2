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
  const int cell = static_cast<int>(center * grid);
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

/// The larger of the ratios of two boxes' widths and heights, each the larger by the smaller.
BRIGHTNET_HD float size_ratio(const Box& a, const Box& b) {
  const float w = a.w > b.w ? a.w / b.w : b.w / a.w;
  const float h = a.h > b.h ? a.h / b.h : b.h / a.h;
  return w > h ? w : h;
}

/// Whether a truth is assigned to an anchor: to its best one, and to any other whose IoU exceeds iou_threshold
/// or, except for best_anchor, whose sides are within anchor_ratio of the truth's.
BRIGHTNET_HD bool is_assigned(const YoloHead& head, const Box& truth, int anchor, int best) {
  if (anchor == best) return true;
  const Box size = relative_anchor(head, anchor);
  if (reaches_neighbours(head.assignment)) return size_ratio(size, truth) < head.anchor_ratio;
  return head.iou_threshold < 1.0f && size_iou(size, truth) > head.iou_threshold;
}

/// The cells that a truth is assigned to: the one that contains its centre and, except for best_anchor, the
/// nearer neighbour along each axis, whose predictions reach the centre when scale_xy is 2.
struct AssignedCells {
  int column[3], row[3];
  int count;
};

/// The neighbour of `cell` on the side of the centre, or -1 outside the grid.
BRIGHTNET_HD int nearer_neighbour(float center, int cell, int grid) {
  const float inside = center * grid - cell;
  const int neighbour = inside < 0.5f ? cell - 1 : cell + 1;
  return neighbour < grid ? neighbour : -1;
}

BRIGHTNET_HD AssignedCells assigned_cells(const YoloHead& head, const Box& truth, int grid_w, int grid_h) {
  const int column = cell_of(truth.x, grid_w), row = cell_of(truth.y, grid_h);
  AssignedCells cells{{column, 0, 0}, {row, 0, 0}, 1};
  if (!reaches_neighbours(head.assignment)) return cells;
  const int beside = nearer_neighbour(truth.x, column, grid_w);
  if (beside >= 0) {
    cells.column[cells.count] = beside;
    cells.row[cells.count++] = row;
  }
  const int above = nearer_neighbour(truth.y, row, grid_h);
  if (above >= 0) {
    cells.column[cells.count] = column;
    cells.row[cells.count++] = above;
  }
  return cells;
}

/// Whether a truth is assigned to the prediction of `anchor` in the cell (column, row), by best_anchor and neighbours.
BRIGHTNET_HD bool is_assigned_in_cell(const YoloHead& head, const Box& truth, int anchor, int column, int row,
                                      int grid_w, int grid_h) {
  if (!is_usable(truth)) return false;
  const int own_column = cell_of(truth.x, grid_w), own_row = cell_of(truth.y, grid_h);
  bool inside = column == own_column && row == own_row;
  if (reaches_neighbours(head.assignment)) {  // as assigned_cells(), without its arrays
    inside = inside || (row == own_row && column == nearer_neighbour(truth.x, own_column, grid_w)) ||
             (column == own_column && row == nearer_neighbour(truth.y, own_row, grid_h));
  }
  return inside && is_assigned(head, truth, anchor, best_anchor(head, truth));
}

/// How well a prediction suits a truth, in (0, 1], for simota: of cost 3·(−ln IoU) + ½·(−ln p_class − ln
/// p_objectness), the YOLOX paper's with the term of the truth's own class alone, it is 1 / (1 + cost).
BRIGHTNET_HD float suitability(float iou, float objectness_logit, float class_logit) {
  constexpr float least_iou = 1e-8f, iou_factor = 3.0f;
  const float cost =
      -iou_factor * std::log(iou > least_iou ? iou : least_iou) +
      0.5f * (cross_entropy(objectness_logit, 1.0f).value + cross_entropy(class_logit, 1.0f).value);
  return 1.0f / (1.0f + cost);
}

/// The candidates of one truth in one head for simota: the predictions that `neighbours` assigns it to. A truth
/// takes the most suitable of them, as many as the sum of their IoUs, at least one.
struct Candidates {
  static constexpr int most = 3 * max_head_anchors;
  int cell[most], slot[most];  ///< cell: row · grid_w + column
  float suitability[most];
  int count, taken;
};

/// `logits(cell, slot)` points at that prediction's numbers. Afterwards the first `taken` candidates are the
/// most suitable ones, best first; the first of equals stays first.
template <typename Logits>
BRIGHTNET_HD Candidates find_candidates(const YoloHead& head, const Truth& truth, int grid_w, int grid_h,
                                        const Logits& logits) {
  Candidates found;
  found.count = 0;
  float sum = 0;
  const int best = best_anchor(head, truth.box);
  const AssignedCells cells = assigned_cells(head, truth.box, grid_w, grid_h);
  for (int i = 0; i < cells.count; ++i) {
    for (int slot = 0; slot < head.mask_count; ++slot) {
      const int anchor = head.mask[slot];
      if (!is_assigned(head, truth.box, anchor, best)) continue;
      const int cell = cells.row[i] * grid_w + cells.column[i];
      const auto* const t = logits(cell, slot);
      const Box box =
          decode_box(head, anchor, cells.column[i], cells.row[i], grid_w, grid_h, static_cast<float>(t[0]),
                     static_cast<float>(t[1]), static_cast<float>(t[2]), static_cast<float>(t[3]));
      const float overlap = iou(box, truth.box);
      sum += overlap;
      found.cell[found.count] = cell;
      found.slot[found.count] = slot;
      found.suitability[found.count++] =
          suitability(overlap, static_cast<float>(t[4]), static_cast<float>(t[5 + truth.class_id]));
    }
  }
  found.taken = sum < 1.0f ? 1 : static_cast<int>(sum);
  if (found.taken > found.count) found.taken = found.count;
  for (int i = 0; i < found.taken; ++i) {
    int most = i;
    for (int j = i + 1; j < found.count; ++j)
      if (found.suitability[j] > found.suitability[most]) most = j;
    // Moves the best to i and keeps the order of the others.
    const int cell = found.cell[most], slot = found.slot[most];
    const float value = found.suitability[most];
    for (int j = most; j > i; --j) {
      found.cell[j] = found.cell[j - 1];
      found.slot[j] = found.slot[j - 1];
      found.suitability[j] = found.suitability[j - 1];
    }
    found.cell[i] = cell;
    found.slot[i] = slot;
    found.suitability[i] = value;
  }
  return found;
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

/// Unweighted objectness loss: the cross-entropy, with objectness_gamma the quality focal loss.
BRIGHTNET_HD LossTerm objectness_term(const YoloHead& head, float logit, float target) {
  return focal_cross_entropy(logit, target, head.objectness_gamma);
}

/// Target and weight of a prediction's objectness loss.
struct ObjectnessTarget {
  float target, weight;
};

/// The target of a prediction without a truth; best_iou is its highest IoU with any truth of the image.
BRIGHTNET_HD ObjectnessTarget unassigned_objectness(const YoloHead& head, float best_iou) {
  if (head.truth_threshold < 1.0f && best_iou > head.truth_threshold) return {1.0f, head.objectness_weight};
  if (best_iou > head.ignore_threshold) return {0.0f, 0.0f};
  return {0.0f, head.objectness_weight * head.negative_weight};
}

/// The target of a prediction with a truth; `iou` is that of the two.
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
