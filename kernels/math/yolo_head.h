// A YOLO head: its anchors, how it decodes boxes, and the options of its assignment and loss.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/math/hd.h"
#include "kernels/math/iou.h"

namespace brightnet {

/// Overlap measure of non-maximum suppression: IoU, or DIoU (Zheng et al. 2020).
enum class NmsKind : uint8_t { greedy, diou };

constexpr std::string_view enum_name(NmsKind kind) {
  switch (kind) {
    case NmsKind::greedy: return "greedy";
    case NmsKind::diou: return "diou";
  }
  return {};
}

/// How ground-truth boxes are assigned to predictions (kernels/math/yolo.h, docs/loss.md).
enum class AssignmentKind : uint8_t {
  best_anchor,  ///< YOLOv3 and YOLOv4: one cell, the anchor with the best IoU of sizes
  neighbours,   ///< YOLOv5: up to three cells, every anchor of about the box's size
  simota,       ///< YOLOX, YOLOv7: of neighbours' predictions those that are already closest
};

constexpr std::string_view enum_name(AssignmentKind kind) {
  switch (kind) {
    case AssignmentKind::best_anchor: return "best_anchor";
    case AssignmentKind::neighbours: return "neighbours";
    case AssignmentKind::simota: return "simota";
  }
  return {};
}

/// Whether a truth is assigned to the neighbours of its cell as well.
BRIGHTNET_HD constexpr bool reaches_neighbours(AssignmentKind kind) {
  switch (kind) {
    case AssignmentKind::best_anchor: return false;
    case AssignmentKind::neighbours:
    case AssignmentKind::simota: return true;
  }
  return false;
}

/// Whether the assignment depends on the predictions.
BRIGHTNET_HD constexpr bool reads_predictions(AssignmentKind kind) {
  switch (kind) {
    case AssignmentKind::best_anchor:
    case AssignmentKind::neighbours: return false;
    case AssignmentKind::simota: return true;
  }
  return false;
}

/// The kind that assigns all of this one's candidates, whatever the predictions are.
constexpr AssignmentKind static_form(AssignmentKind kind) {
  switch (kind) {
    case AssignmentKind::best_anchor: return AssignmentKind::best_anchor;
    case AssignmentKind::neighbours:
    case AssignmentKind::simota: return AssignmentKind::neighbours;
  }
  return kind;
}

/// Most anchors of a model, over all heads, and of one head: what a thread of the GPU keeps of a truth grows
/// with the latter.
constexpr int max_anchors = 32, max_head_anchors = 16;
/// Most candidates per image and head for non-maximum suppression. A trained network has a few hundred.
constexpr unsigned max_candidates = 8192;

/// Width and height of an anchor in pixels of the network's input.
struct Anchor {
  float w = 0, h = 0;
  bool operator==(const Anchor&) const = default;
};

/// One head; trivially copyable, so that kernels take it by value. Its input has `mask_count · (5 + classes)`
/// channels: for each of its anchors x, y, w, h, objectness, then a logit per class.
struct YoloHead {
  int classes = 0;
  Anchor anchors[max_anchors];  ///< all anchors of the model, over all heads
  int anchor_count = 0;
  int mask[max_head_anchors] = {};  ///< indices of this head's anchors
  int mask_count = 0;
  int input_width = 0, input_height = 0;  ///< pixels of the network's input

  float scale_xy = 1.0f;    ///< s of b_xy = (σ(t)·s − (s−1)/2 + cell) / grid
  bool new_coords = false;  ///< b_wh = anchor·(2σ(t))² (Scaled-YOLOv4) instead of anchor·exp(t)

  // Assignment (kernels/math/yolo.h).
  AssignmentKind assignment = AssignmentKind::best_anchor;
  /// neighbours and simota: anchors whose sides are within this factor of the box's are assigned.
  float anchor_ratio = 4.0f;
  float ignore_threshold = 0.7f;  ///< unassigned predictions above this IoU have no objectness loss
  float truth_threshold = 1.0f;   ///< unassigned predictions above this IoU have objectness target 1; 1: none
  float iou_threshold = 1.0f;     ///< anchors above this IoU of sizes are assigned as well; 1: none

  // Loss (kernels/math/iou.h, kernels/math/loss.h).
  IouKind iou_kind = IouKind::ciou;
  float box_weight = 1.0f, objectness_weight = 1.0f, class_weight = 1.0f;
  float negative_weight = 1.0f;    ///< factor on the objectness loss where there is no object
  float label_smoothing = 0.0f;    ///< ε: class targets are 1 − ε/2 and ε/2
  float focal_gamma = 0.0f;        ///< γ of the classes' focal loss; 0: plain cross-entropy
  bool objectness_smooth = false;  ///< the objectness target of an assigned prediction is its IoU
  float objectness_gamma = 0.0f;   ///< γ of the objectness' quality focal loss; 0: plain cross-entropy
  /// Derivatives of the box loss by its four logits are clipped to ±this (before gradient_scale); 0:
  /// not clipped.
  float max_delta = 0.0f;
  /// Factors on the class loss of positive predictions, one per class, in device memory; nullptr: all 1.
  const float* class_weights = nullptr;

  /// Numbers of one prediction, and channels of one cell.
  BRIGHTNET_HD int values() const { return 5 + classes; }
  BRIGHTNET_HD int channels() const { return mask_count * values(); }
};

}  // namespace brightnet
