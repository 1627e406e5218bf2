// Decoding of boxes from logits, a cell and an anchor, and its derivatives.
//
//   centre:  b = (σ(t)·s − (s − 1)/2 + cell) / grid        YOLOv4 (Bochkovskiy et al. 2020), section 3.4,
//                                                          "eliminate grid sensitivity"; s = 1 is YOLOv3's
//   size:    b = anchor·e^t / input                        YOLOv2 and later
//            b = anchor·(2σ(t))² / input                   Scaled-YOLOv4 (Wang et al. 2021), `new_coords`
#pragma once

#include "core/box.h"
#include "kernels/math/activation.h"
#include "kernels/math/hd.h"
#include "kernels/math/yolo_head.h"

namespace brightnet {

/// Logits of sizes are clamped to ±this; the derivative beyond is 0. e^±10 is far beyond any object (22 000
/// anchors, or 1/22 000 of one), and no product of sizes over- or underflows in fp32.
constexpr float size_logit_limit = 10.0f;

/// A box and, for each of its four numbers, the derivative with respect to its own logit.
struct DecodedBox {
  Box box, derivative;
};

BRIGHTNET_HD float clamp_size_logit(float t) {
  const float above = t < -size_logit_limit ? -size_logit_limit : t;
  return above > size_logit_limit ? size_logit_limit : above;
}

/// Centre along one axis, relative to the input: `cell` is the column (row), `grid` the number of
/// columns (rows).
BRIGHTNET_HD float decode_center(float t, float cell, float grid, float scale_xy) {
  return (logistic(t) * scale_xy - 0.5f * (scale_xy - 1.0f) + cell) / grid;
}

/// Width (height), relative to the input; `anchor` is relative to the input as well.
BRIGHTNET_HD float decode_size(float t, float anchor, bool new_coords) {
  const float argument = clamp_size_logit(t);
  if (!new_coords) return anchor * fast_exp(argument);
  const float doubled = 2.0f * logistic(argument);
  return anchor * doubled * doubled;
}

/// d decode_center / dt.
BRIGHTNET_HD float center_derivative(float t, float grid, float scale_xy) {
  const float s = logistic(t);
  return scale_xy * s * (1.0f - s) / grid;
}

/// d decode_size / dt, given the size it decoded to.
BRIGHTNET_HD float size_derivative(float t, float size, bool new_coords) {
  if (t < -size_logit_limit || t > size_logit_limit) return 0.0f;
  // d(4σ²)/dt = 8σ·σ(1 − σ) = 4σ²·2(1 − σ)
  return new_coords ? size * 2.0f * (1.0f - logistic(t)) : size;
}

/// An anchor as a fraction of the input, in w and h (x and y stay 0).
BRIGHTNET_HD Box relative_anchor(const YoloHead& head, int anchor) {
  return {0.0f, 0.0f, head.anchors[anchor].w / head.input_width, head.anchors[anchor].h / head.input_height};
}

/// The box of one prediction: `anchor` indexes head.anchors, (column, row) is its cell of grid_w × grid_h.
BRIGHTNET_HD Box decode_box(const YoloHead& head, int anchor, int column, int row, int grid_w, int grid_h,
                            float tx, float ty, float tw, float th) {
  const Box size = relative_anchor(head, anchor);
  return {decode_center(tx, static_cast<float>(column), static_cast<float>(grid_w), head.scale_xy),
          decode_center(ty, static_cast<float>(row), static_cast<float>(grid_h), head.scale_xy),
          decode_size(tw, size.w, head.new_coords), decode_size(th, size.h, head.new_coords)};
}

/// Decodes a box as decode_box() does, with its derivatives.
BRIGHTNET_HD DecodedBox decode_box_with_derivative(const YoloHead& head, int anchor, int column, int row,
                                                   int grid_w, int grid_h, float tx, float ty, float tw,
                                                   float th) {
  const Box box = decode_box(head, anchor, column, row, grid_w, grid_h, tx, ty, tw, th);
  return {box,
          {center_derivative(tx, static_cast<float>(grid_w), head.scale_xy),
           center_derivative(ty, static_cast<float>(grid_h), head.scale_xy),
           size_derivative(tw, box.w, head.new_coords), size_derivative(th, box.h, head.new_coords)}};
}

}  // namespace brightnet
