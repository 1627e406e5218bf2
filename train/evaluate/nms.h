// Non-maximum suppression: of several detections of one object, the best stays.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/box.h"
#include "core/config.h"

namespace brightnet {

struct Model;

/// greedy: a box is suppressed when its IoU with a better one of its class exceeds `iou`.
/// diou: it is suppressed when IoU - (d²/c²)^beta exceeds `iou`, where d is the distance of the two centres
/// and c the diagonal of the smallest box around both, so that two objects side by side both stay (Zheng et
/// al. 2020, "Distance-IoU Loss", section 3.3; the exponent is YOLOv4's beta_nms). model: as the model's
/// heads say; for_model() puts it in.
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
  int max_detections = 300;  ///< an image, over all classes, best first
  void fields(Fields& f);
};

/// With the kind and exponent of the model's heads where `kind` leaves them to the model.
NmsOptions for_model(NmsOptions options, const Model& model);

/// The detections of one image that survive, best score first; equal scores keep the order they came in, so
/// the result depends on the input alone. Suppression is within a class. Boxes are compared in the
/// coordinates given (relative to the image, as a rule): IoU does not depend on the unit, the distance term
/// on the aspect only. A candidate whose score or box is not finite, or whose box is empty, is dropped.
/// Time: candidates × detections kept in their class.
std::vector<Detection> non_max_suppression(const std::vector<Detection>& candidates,
                                           const NmsOptions& options);

}  // namespace brightnet
