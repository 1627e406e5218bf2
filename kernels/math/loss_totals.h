// Sums of the loss over one batch and over many.
#pragma once

#include <cfloat>

#include "kernels/math/hd.h"

namespace brightnet {

/// Sums over one batch (not divided by its size), written by the loss to device memory.
struct YoloLoss {
  float box = 0, objectness = 0, classes = 0;  ///< weighted loss parts; their sum is the loss
  float iou = 0;                               ///< sum of the assigned predictions' IoU with their truths
  float assigned = 0;                          ///< number of assigned predictions

  YoloLoss& operator+=(const YoloLoss& more) {
    box += more.box;
    objectness += more.objectness;
    classes += more.classes;
    iou += more.iou;
    assigned += more.assigned;
    return *this;
  }
};

/// Sums over many batches; in double, because an epoch's sum is a million times a prediction's.
struct LossTotals {
  double box = 0, objectness = 0, classes = 0;
  double iou = 0, assigned = 0;
  double images = 0;  ///< number of images that the sums are over
  /// Optimizer steps, those whose gradient was clipped, and the sum of the gradients' norms before clipping.
  /// Every rank counts the same, since the gradient is that of all ranks.
  double steps = 0, clipped = 0, norm = 0;
  double distillation = 0;  ///< the weighted loss against a teacher (train.teacher)
};

/// The loss that people are shown: the weighted parts per assigned prediction. Sums would rise while the
/// network learns, because simota assigns the more predictions the better they fit, and training and
/// validation could not be compared where images have different numbers of objects.
struct MeanLoss {
  double box = 0, objectness = 0, classes = 0;
  double distillation = 0;  ///< loss against a teacher; not part of the total, since validation has none

  double total() const { return box + objectness + classes; }
};

/// Divides the sums by the assigned predictions. Without one (no image has an object) the sums stay as they
/// are.
inline MeanLoss mean_loss(const LossTotals& totals) {
  const double count = totals.assigned > 0 ? totals.assigned : 1;
  return {totals.box / count, totals.objectness / count, totals.classes / count, totals.distillation / count};
}

/// Finite losses stay finite: a sum beyond float's range becomes its largest number. NaN stays NaN.
BRIGHTNET_HD float finite_loss(double sum) {
  return static_cast<float>(sum > FLT_MAX ? FLT_MAX : sum);
}

BRIGHTNET_HD void add_loss(LossTotals& totals, const YoloLoss& loss) {
  totals.box += loss.box;
  totals.objectness += loss.objectness;
  totals.classes += loss.classes;
  totals.iou += loss.iou;
  totals.assigned += loss.assigned;
}

/// Adds `more` to the totals; with sign −1 it leaves the sums since `more`.
BRIGHTNET_HD void add_totals(LossTotals& totals, const LossTotals& more, double sign = 1) {
  totals.box += sign * more.box;
  totals.objectness += sign * more.objectness;
  totals.classes += sign * more.classes;
  totals.iou += sign * more.iou;
  totals.assigned += sign * more.assigned;
  totals.images += sign * more.images;
  totals.distillation += sign * more.distillation;
  totals.steps += sign * more.steps;
  totals.clipped += sign * more.clipped;
  totals.norm += sign * more.norm;
}

}  // namespace brightnet
