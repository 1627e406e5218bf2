// IoU variants of two boxes and the box losses made of them, with exact derivatives by the predicted box's
// centre and size.
//
//   IoU    I / U                                           intersection over union
//   GIoU   IoU − (C − U) / C                               C: the area of the box that encloses both
//   DIoU   IoU − ρ² / c²                                   ρ: distance of the centres, c: C's diagonal
//   CIoU   DIoU − αv,  v = 4/π²·(atan(w/h) − atan(w'/h'))²,  α = v / (1 − IoU + v)
//
// (GIoU: Rezatofighi et al. 2019; DIoU and CIoU: Zheng et al. 2020.)
//
// The loss of each is 1 − value. CIoU's α is differentiated like everything else: with S = 1 − IoU + v the
// last term is v²/S, so that
//   d(αv) = α(2 − α)·dv + α²·dIoU.
// (The paper, torchvision and Ultralytics hold α constant, α·dv, which is not the gradient of any function.)
// Everything is in coordinates relative to the input, as in darknet.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/box.h"
#include "kernels/math/hd.h"

#ifndef __CUDA_ARCH__
#include <cmath>
#endif

namespace brightnet {

/// The measure of box_loss(); mse is YOLOv3's squared error.
enum class IouKind : uint8_t { mse, iou, giou, diou, ciou };

constexpr std::string_view enum_name(IouKind kind) {
  switch (kind) {
    case IouKind::mse: return "mse";
    case IouKind::iou: return "iou";
    case IouKind::giou: return "giou";
    case IouKind::diou: return "diou";
    case IouKind::ciou: return "ciou";
  }
  return {};
}

/// Less than any decoded box's area; keeps quotients of boxes without area finite.
constexpr float smallest_area = 1e-30f;

/// Overlap and enclosing interval of two boxes along one axis, and their derivatives by the first box's
/// centre and size.
struct AxisOverlap {
  float shared, enclosing;  ///< lengths; `shared` is negative when they are apart
  float shared_by_center, shared_by_size, enclosing_by_center, enclosing_by_size;
};

BRIGHTNET_HD AxisOverlap overlap(float center, float size, float other_center, float other_size) {
  const float low = center - 0.5f * size, high = center + 0.5f * size;
  const float other_low = other_center - 0.5f * other_size, other_high = other_center + 0.5f * other_size;
  const float low_inside = low > other_low ? 1.0f : 0.0f, high_inside = high < other_high ? 1.0f : 0.0f;
  const float low_outside = low < other_low ? 1.0f : 0.0f, high_outside = high > other_high ? 1.0f : 0.0f;
  AxisOverlap axis;
  axis.shared = (high < other_high ? high : other_high) - (low > other_low ? low : other_low);
  axis.enclosing = (high > other_high ? high : other_high) - (low < other_low ? low : other_low);
  axis.shared_by_center = high_inside - low_inside;
  axis.shared_by_size = 0.5f * (high_inside + low_inside);
  axis.enclosing_by_center = high_outside - low_outside;
  axis.enclosing_by_size = 0.5f * (high_outside + low_outside);
  return axis;
}

/// Intersection over union of two boxes in [0, 1]; 0 when neither has an area.
BRIGHTNET_HD float iou(const Box& a, const Box& b) {
  const float w = overlap(a.x, a.w, b.x, b.w).shared, h = overlap(a.y, a.h, b.y, b.h).shared;
  const float shared = w > 0 && h > 0 ? w * h : 0.0f;
  const float either = a.w * a.h + b.w * b.h - shared;
  const float value = shared / (either > smallest_area ? either : smallest_area);
  return value < 1.0f ? value : 1.0f;
}

/// IoU of two boxes moved to the same centre; x and y are ignored.
BRIGHTNET_HD float size_iou(const Box& a, const Box& b) {
  const float shared = (a.w < b.w ? a.w : b.w) * (a.h < b.h ? a.h : b.h);
  const float either = a.w * a.h + b.w * b.h - shared;
  return shared / (either > smallest_area ? either : smallest_area);
}

/// Box loss of one prediction, its plain IoU, and d loss / d(x, y, w, h) of the prediction.
struct BoxLoss {
  float loss = 0, iou = 0;
  Box gradient;
};

/// Union and IoU of two boxes, and their derivatives by the prediction's x, y, w, h.
struct Overlap {
  AxisOverlap x, y;
  float either, iou;  ///< area of the union; intersection over union
  Box either_by, iou_by;
};

/// Computes the overlap of a prediction and a truth. At an edge that both boxes share, the derivatives are
/// one-sided.
BRIGHTNET_HD Overlap overlap_with_gradient(const Box& p, const Box& truth) {
  Overlap o;
  o.x = overlap(p.x, p.w, truth.x, truth.w);
  o.y = overlap(p.y, p.h, truth.y, truth.h);
  const bool meet = o.x.shared > 0 && o.y.shared > 0;
  const float shared = meet ? o.x.shared * o.y.shared : 0.0f;
  const float sum = p.w * p.h + truth.w * truth.h - shared;
  o.either = sum > smallest_area ? sum : smallest_area;
  const float quotient = shared / o.either;
  o.iou = quotient < 1.0f ? quotient : 1.0f;
  const Box shared_by = meet ? Box{o.x.shared_by_center * o.y.shared, o.y.shared_by_center * o.x.shared,
                                   o.x.shared_by_size * o.y.shared, o.y.shared_by_size * o.x.shared}
                             : Box{};
  o.either_by = {-shared_by.x, -shared_by.y, p.h - shared_by.w, p.w - shared_by.h};
  o.iou_by = {
      (shared_by.x - o.iou * o.either_by.x) / o.either, (shared_by.y - o.iou * o.either_by.y) / o.either,
      (shared_by.w - o.iou * o.either_by.w) / o.either, (shared_by.h - o.iou * o.either_by.h) / o.either};
  return o;
}

/// GIoU's term: the part of the enclosing box that neither box fills, 1 − U/C.
BRIGHTNET_HD void add_unfilled_area(const Overlap& o, BoxLoss& result) {
  const float product = o.x.enclosing * o.y.enclosing;
  const float area = product > smallest_area ? product : smallest_area;
  const float filled = o.either / area;
  result.loss += 1.0f - filled;
  result.gradient.x -= (o.either_by.x - filled * o.x.enclosing_by_center * o.y.enclosing) / area;
  result.gradient.y -= (o.either_by.y - filled * o.y.enclosing_by_center * o.x.enclosing) / area;
  result.gradient.w -= (o.either_by.w - filled * o.x.enclosing_by_size * o.y.enclosing) / area;
  result.gradient.h -= (o.either_by.h - filled * o.y.enclosing_by_size * o.x.enclosing) / area;
}

/// DIoU's term: ρ²/c².
BRIGHTNET_HD void add_center_distance(const Overlap& o, float dx, float dy, BoxLoss& result) {
  const float squares = o.x.enclosing * o.x.enclosing + o.y.enclosing * o.y.enclosing;
  const float diagonal = squares > smallest_area ? squares : smallest_area;
  const float distance = (dx * dx + dy * dy) / diagonal;
  result.loss += distance;
  result.gradient.x += 2.0f * (dx - distance * o.x.enclosing * o.x.enclosing_by_center) / diagonal;
  result.gradient.y += 2.0f * (dy - distance * o.y.enclosing * o.y.enclosing_by_center) / diagonal;
  result.gradient.w -= 2.0f * distance * o.x.enclosing * o.x.enclosing_by_size / diagonal;
  result.gradient.h -= 2.0f * distance * o.y.enclosing * o.y.enclosing_by_size / diagonal;
}

/// CIoU's term: αv.
BRIGHTNET_HD void add_aspect_difference(const Overlap& o, const Box& p, const Box& truth, BoxLoss& result) {
  constexpr float four_over_pi_squared = 0.405284735f;
  const float angle = std::atan(p.w / p.h) - std::atan(truth.w / truth.h);
  const float v = four_over_pi_squared * angle * angle;
  const float s = 1.0f - o.iou + v;
  const float alpha = s > 0 ? v / s : 0.0f;
  const float squares = p.w * p.w + p.h * p.h;
  const float by_angle = alpha * (2.0f - alpha) * 2.0f * four_over_pi_squared * angle /
                         (squares > smallest_area ? squares : smallest_area);
  result.loss += alpha * v;
  result.gradient.x += alpha * alpha * o.iou_by.x;
  result.gradient.y += alpha * alpha * o.iou_by.y;
  result.gradient.w += alpha * alpha * o.iou_by.w + by_angle * p.h;
  result.gradient.h += alpha * alpha * o.iou_by.h - by_angle * p.w;
}

/// The loss of iou, giou, diou or ciou: 1 − the value at the top of this file.
BRIGHTNET_HD BoxLoss iou_loss(IouKind kind, const Box& p, const Box& truth) {
  const Overlap o = overlap_with_gradient(p, truth);
  BoxLoss result;
  result.iou = o.iou;
  result.loss = 1.0f - o.iou;
  result.gradient = {-o.iou_by.x, -o.iou_by.y, -o.iou_by.w, -o.iou_by.h};
  switch (kind) {
    case IouKind::mse:  // squared_box_loss()
    case IouKind::iou: break;
    case IouKind::giou: add_unfilled_area(o, result); break;
    case IouKind::diou:
    case IouKind::ciou:
      add_center_distance(o, p.x - truth.x, p.y - truth.y, result);
      if (kind == IouKind::ciou) add_aspect_difference(o, p, truth, result);
      break;
  }
  return result;
}

/// YOLOv3's squared error, of boxes instead of logits so that it is the same in both coordinate modes:
///   ½·(2 − w'h')·[(grid_w·Δx)² + (grid_h·Δy)² + ln²(w/w') + ln²(h/h')].
BRIGHTNET_HD BoxLoss squared_box_loss(const Box& p, const Box& truth, float grid_w, float grid_h) {
  const float scale = 2.0f - truth.w * truth.h;
  const float dx = (p.x - truth.x) * grid_w, dy = (p.y - truth.y) * grid_h;
  const float dw = std::log(p.w) - std::log(truth.w), dh = std::log(p.h) - std::log(truth.h);
  BoxLoss result;
  result.iou = iou(p, truth);
  result.loss = 0.5f * scale * (dx * dx + dy * dy + dw * dw + dh * dh);
  result.gradient = {scale * dx * grid_w, scale * dy * grid_h, scale * dw / p.w, scale * dh / p.h};
  return result;
}

/// The loss of any kind. Both boxes have positive sizes.
BRIGHTNET_HD BoxLoss box_loss(IouKind kind, const Box& p, const Box& truth, int grid_w, int grid_h) {
  if (kind == IouKind::mse)
    return squared_box_loss(p, truth, static_cast<float>(grid_w), static_cast<float>(grid_h));
  return iou_loss(kind, p, truth);
}

}  // namespace brightnet
