// The keys of a head, each of which may be left out: a model's `head:`, a yolo layer's own, and a run's `head:`, which
// win over each other in this order.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/config.h"
#include "kernels/math/yolo_head.h"

namespace brightnet {

struct Model;
struct YoloAttributes;

/// Who has a value that is not written out: `model`, whatever its file says, or `auto`, training's choice. Until
/// training has chosen, both leave the model's.
enum class LeftTo : uint8_t { model, training };
constexpr std::string_view enum_name(LeftTo whom) {
  switch (whom) {
    case LeftTo::model: return "model";
    case LeftTo::training: return "auto";
  }
  return {};
}

/// A key that is not given, left to the model or to training, or given a value.
template <typename T>
using LeavableKey = std::optional<std::variant<LeftTo, T>>;

/// The value of a key; nullptr where it has none.
template <typename T>
const T* value_of(const LeavableKey<T>& key) {
  return key ? std::get_if<T>(&*key) : nullptr;
}
template <typename T>
bool is_left_to(const LeavableKey<T>& key, LeftTo whom) {
  return key == LeavableKey<T>(whom);
}

struct HeadAnchors {
  std::vector<Anchor> list;
  std::string where;  ///< file and line, for messages
  bool operator==(const HeadAnchors& other) const;
};

struct HeadClassWeights {
  std::vector<float> list;  ///< empty: all 1
  std::string where;        ///< file and line, for messages
  bool operator==(const HeadClassWeights& other) const { return list == other.list; }
};

struct HeadOptions {
  LeavableKey<HeadAnchors> anchors;
  std::optional<float> scale_xy;
  std::optional<bool> new_coords;
  std::optional<float> ignore_threshold, truth_threshold;
  LeavableKey<AssignmentKind> assignment;
  std::optional<float> anchor_ratio, iou_threshold;
  std::optional<IouKind> iou_loss;
  std::optional<float> box_weight, objectness_weight, class_weight, negative_weight;
  std::optional<float> label_smoothing, focal_gamma;
  std::optional<bool> objectness_smooth;
  std::optional<float> objectness_gamma, max_delta;
  LeavableKey<HeadClassWeights> class_weights;  ///< never left to the model
  std::optional<NmsKind> nms;
  std::optional<float> nms_beta;

  void fields(Fields& f);
};

/// All keys of a head.
HeadOptions head_options(const YoloAttributes& yolo);
/// The keys that are given replace those of the head.
void apply(const HeadOptions& options, YoloAttributes& yolo);

}  // namespace brightnet
