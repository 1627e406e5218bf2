// The loss of a network against its teacher, and its derivatives: docs/loss.md#distillation has the formulas.
//
// Predictions (Mehta and Ozturk 2018, "Object detection at 200 Frames Per Second"): boxes and classes count by the teacher's
// objectness, because what it says of background means nothing. A prediction's teacher is that of the same cell whose anchor
// is most alike, and counts by how alike the two are: the IoU of their sizes.
// Features (Romero et al. 2015, "FitNets"): the squared distance as a share of the teacher's own square, for each image.
#pragma once

#include "kernels/math/box.h"
#include "kernels/math/loss.h"
#include "kernels/math/yolo.h"

namespace brightnet {

/// A student's head and its teacher's, of the same stride and classes.
struct DistilledHeads {
  YoloHead student, teacher;
  int slot[max_head_anchors] = {};     ///< slots of the teacher's anchors, by the student's
  float alike[max_head_anchors] = {};  ///< IoU of the two anchors' sizes
};

/// Pairs each anchor of the student's head with the most alike of the teacher's; the first of equals.
inline DistilledHeads pair_heads(const YoloHead& student, const YoloHead& teacher) {
  DistilledHeads heads{student, teacher};
  for (int i = 0; i < student.mask_count; ++i) {
    for (int k = 0; k < teacher.mask_count; ++k) {
      const float fit =
          size_iou(relative_anchor(student, student.mask[i]), relative_anchor(teacher, teacher.mask[k]));
      if (fit <= heads.alike[i]) continue;
      heads.alike[i] = fit;
      heads.slot[i] = k;
    }
  }
  return heads;
}

/// The divergence (Kullback-Leibler) of σ(logit) from the teacher's probability σ(teacher); 0 where they are equal.
BRIGHTNET_HD LossTerm divergence(float logit, float teacher) {
  const float target = logistic(teacher);
  const LossTerm term = cross_entropy(logit, target);
  return {term.value - cross_entropy(teacher, target).value, term.derivative};
}

/// Loss of number `k` of a prediction (4: objectness, 5 and more: classes) against the teacher's logit;
/// `seen`: the teacher's objectness.
BRIGHTNET_HD LossTerm distilled_logit(const DistilledHeads& heads, int slot, int k, float logit,
                                      float teacher, float seen) {
  const float weight =
      heads.alike[slot] * (k == 4 ? heads.student.objectness_weight : heads.student.class_weight * seen);
  const LossTerm term = divergence(logit, teacher);
  return {weight * term.value, weight * term.derivative};
}

/// A side of the teacher's box as the squared error takes it, at most the image's, which no truth exceeds: its factor
/// 2 − w'h' would otherwise become negative and reward the error.
BRIGHTNET_HD float side_for_squared_error(float side) {
  return side < 1.0f ? side : 1.0f;
}

/// Loss of a prediction's box against the teacher's: the head's own box loss, with the teacher's box in the place of a
/// truth's. `teacher`: x, y, w, h.
BRIGHTNET_HD BoxTerm distilled_box(const DistilledHeads& heads, int slot, int column, int row, int grid_w,
                                   int grid_h, const float (&logits)[4], const float (&teacher)[4],
                                   float seen) {
  Box box = decode_box(heads.teacher, heads.teacher.mask[heads.slot[slot]], column, row, grid_w, grid_h,
                       teacher[0], teacher[1], teacher[2], teacher[3]);
  if (!is_usable(box)) return {};
  if (heads.student.iou_kind == IouKind::mse) {
    box.w = side_for_squared_error(box.w);
    box.h = side_for_squared_error(box.h);
  }
  BoxTerm term = box_term(heads.student, heads.student.mask[slot], column, row, grid_w, grid_h, logits, box);
  const float weight = heads.alike[slot] * seen;
  term.value *= weight;
  for (float& derivative : term.derivative) derivative *= weight;
  return term;
}

/// 1 over the sum of squares of an image's features; 0 where they are all 0: they teach nothing.
BRIGHTNET_HD float inverse_energy(double squares) {
  return squares > 0 ? static_cast<float>(1.0 / squares) : 0.0f;
}

}  // namespace brightnet
