// Non-maximum suppression: of several detections of one object, only the best is kept.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/box.h"
#include "core/config.h"

namespace brightnet {

struct Model;

/// greedy: a box is suppressed when its IoU with a better one of its class exceeds `iou`.
/// diou: it is suppressed when IoU - (d²/c²)^beta exceeds `iou`, where d is the distance between the centres
/// and c the diagonal of the smallest box around both, so that two adjacent objects are both kept (Zheng
/// et al. 2020, "Distance-IoU Loss", section 3.3; the exponent is YOLOv4's beta_nms).
/// model: the method of the model's heads, which for_model() substitutes.
enum class NmsMethod : uint8_t { greedy, diou, model };
constexpr std::string_view enum_name(NmsMethod method) {
  switch (method) {
    case NmsMethod::greedy: return "greedy";
    case NmsMethod::diou: return "diou";
    case NmsMethod::model: return "model";
  }
  return {};
}

/// The `nms:` section.
struct NmsOptions {
  NmsMethod kind = NmsMethod::greedy;
  float iou = 0.45f;
  float beta = 0.6f;         ///< exponent of the distance term; diou only
  float score = 0.001f;      ///< confidence threshold: lower candidates are discarded
  int max_detections = 300;  ///< per image, over all classes, best first
  /// Whether a better box of another class suppresses one as well.
  bool class_agnostic = false;
  void fields(Fields& f);
};

/// The options, with the method and exponent of the model's heads if `kind` is model.
NmsOptions for_model(NmsOptions options, const Model& model);

/// The kept detections of one image, best score first; equal scores keep their input order, so the result is
/// deterministic. Boxes are compared in the given coordinates (usually relative to
/// the image): IoU does not depend on them, the distance term only on their aspect ratio. Candidates with a
/// score or box that is not finite, or with an empty box, are dropped.
/// Time: candidates × detections kept in their class.
std::vector<Detection> non_max_suppression(const std::vector<Detection>& candidates,
                                           const NmsOptions& options);

}  // namespace brightnet
