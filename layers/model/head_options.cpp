#include "layers/model/head_options.h"

#include <algorithm>
#include <cmath>

#include "layers/model/layer_kinds.h"

namespace brightnet {
namespace {

/// The word that leaves a key to somebody.
std::optional<LeftTo> left_to(const YamlValue& value) {
  return value.node.IsScalar() ? enum_value<LeftTo>(value.node.Scalar()) : std::nullopt;
}

/// The YAML of a key; nothing where the key is not given.
template <typename T, typename Print>
YAML::Node key_node(const LeavableKey<T>& key, Print&& print) {
  if (!key) return {};
  if (const T* value = value_of(key)) return print(*value);
  return YAML::Node(std::string(enum_name(std::get<LeftTo>(*key))));
}

YAML::Node number_list(const std::vector<float>& numbers) {
  YAML::Node list(YAML::NodeType::Sequence);
  for (const float number : numbers) list.push_back(yaml_number(number));
  return list;
}

YAML::Node anchors_node(const HeadAnchors& anchors) {
  YAML::Node list(YAML::NodeType::Sequence);
  for (const Anchor& anchor : anchors.list) list.push_back(number_list({anchor.w, anchor.h}));
  return list;
}

YAML::Node class_weights_node(const HeadClassWeights& weights) {
  return weights.list.empty() ? YAML::Node("off") : number_list(weights.list);
}

LeavableKey<HeadAnchors> read_anchors(const YamlValue& value) {
  if (const auto whom = left_to(value)) return *whom;
  const auto rows = yaml_as<std::vector<std::vector<float>>>(
      value, "anchors", "a list of pairs [width, height], auto or model");
  if (rows.empty() || rows.size() > max_anchors) {
    throw InputError("'anchors' must list 1 to " + std::to_string(max_anchors) + " pairs", value.where());
  }
  HeadAnchors anchors{{}, value.where()};
  for (const std::vector<float>& row : rows) {
    const auto is_length = [](float side) { return side > 0 && std::isfinite(side); };
    if (row.size() != 2 || !is_length(row[0]) || !is_length(row[1])) {
      throw InputError("each anchor is a pair of positive numbers, width and height in pixels of the input",
                       value.where());
    }
    anchors.list.push_back({row[0], row[1]});
  }
  return anchors;
}

LeavableKey<AssignmentKind> read_assignment(const YamlValue& value) {
  if (const auto whom = left_to(value)) return *whom;
  const auto name = yaml_as<std::string>(value, "assignment", "a name");
  if (const auto kind = enum_value<AssignmentKind>(name)) return *kind;
  const std::vector<std::string> names = enum_names<AssignmentKind>();
  std::string choices;
  for (const std::string& choice : names) choices += choice + ", ";
  const std::string nearest = nearest_word(name, names);
  throw InputError("'assignment' is '" + name + "' and must be one of: " + choices + "auto, model",
                   value.where(), nearest.empty() ? "" : "Did you mean '" + nearest + "'?");
}

LeavableKey<HeadClassWeights> read_class_weights(const YamlValue& value) {
  if (left_to(value) == LeftTo::training) return LeftTo::training;
  if (value.node.IsScalar() && value.node.Scalar() == "off") return HeadClassWeights{};
  auto weights = yaml_as<std::vector<float>>(value, "class_weights", "a list of numbers, off or auto");
  const auto is_factor = [](float weight) { return weight >= 0 && std::isfinite(weight); };
  if (!std::ranges::all_of(weights, is_factor))
    throw InputError("'class_weights' must be numbers of at least 0", value.where());
  return HeadClassWeights{std::move(weights), value.where()};
}

/// Calls visit(key, value of the head) for all keys that are never left to anybody.
template <typename Options, typename Yolo, typename Visit>
void for_each_value(Options& options, Yolo& yolo, Visit&& visit) {
  auto& head = yolo.head;
  visit(options.scale_xy, head.scale_xy);
  visit(options.new_coords, head.new_coords);
  visit(options.ignore_threshold, head.ignore_threshold);
  visit(options.truth_threshold, head.truth_threshold);
  visit(options.anchor_ratio, head.anchor_ratio);
  visit(options.iou_threshold, head.iou_threshold);
  visit(options.iou_loss, head.iou_kind);
  visit(options.box_weight, head.box_weight);
  visit(options.objectness_weight, head.objectness_weight);
  visit(options.class_weight, head.class_weight);
  visit(options.negative_weight, head.negative_weight);
  visit(options.label_smoothing, head.label_smoothing);
  visit(options.focal_gamma, head.focal_gamma);
  visit(options.objectness_smooth, head.objectness_smooth);
  visit(options.objectness_gamma, head.objectness_gamma);
  visit(options.max_delta, head.max_delta);
  visit(options.nms, yolo.nms);
  visit(options.nms_beta, yolo.nms_beta);
}

}  // namespace

bool HeadAnchors::operator==(const HeadAnchors& other) const {
  return std::ranges::equal(list, other.list,
                            [](const Anchor& a, const Anchor& b) { return a.w == b.w && a.h == b.h; });
}

void HeadOptions::fields(Fields& f) {
  f.custom(
      "anchors", [&](const YamlValue& value) { anchors = read_anchors(value); },
      [&] { return key_node(anchors, anchors_node); },
      "[width, height] in pixels of the input, over all heads; auto: from the data; model: the model's");
  f("scale_xy", scale_xy, "s of (σ(t)·s − (s−1)/2 + cell)").within(1, 4);
  f("new_coords", new_coords, "sizes are anchor·(2σ(t))²");
  f("ignore_threshold", ignore_threshold, "IoU from which an unassigned prediction is left alone")
      .within(0, 1);
  f("truth_threshold", truth_threshold,
    "IoU from which it is pushed to object, as some .cfg files of YOLOv3 ask for; 1: never")
      .within(0, 1);
  f.custom(
      "assignment", [&](const YamlValue& value) { assignment = read_assignment(value); },
      [&] {
        return key_node(assignment,
                        [](AssignmentKind kind) { return YAML::Node(std::string(enum_name(kind))); });
      },
      "how ground-truth boxes are assigned to predictions; auto: as trains best; model: the model's");
  f("anchor_ratio", anchor_ratio, "neighbours and simota: sides within this factor").above(1);
  f("iou_threshold", iou_threshold, "IoU of sizes from which further anchors are assigned; 1: none")
      .within(0, 1);
  f("iou_loss", iou_loss, "kind of box loss");
  f("box_weight", box_weight, "λ of the box loss").at_least(0);
  f("objectness_weight", objectness_weight, "λ of the objectness loss").at_least(0);
  f("class_weight", class_weight, "λ of the class loss").at_least(0);
  f("negative_weight", negative_weight, "factor where there is no object").at_least(0);
  f("label_smoothing", label_smoothing, "ε of the class targets").within(0, 0.5);
  f("focal_gamma", focal_gamma, "focal loss of the classes; 0: none").within(0, 10);
  f("objectness_smooth", objectness_smooth, "the objectness target is the IoU");
  f("objectness_gamma", objectness_gamma, "gamma of the objectness' quality focal loss; 0: none").at_least(0);
  f("max_delta", max_delta, "box gradients are clipped to ± this; 0: not").at_least(0);
  f.custom(
      "class_weights", [&](const YamlValue& value) { class_weights = read_class_weights(value); },
      [&] { return key_node(class_weights, class_weights_node); },
      "one factor a class; off: all 1; auto: larger for classes with few objects");
  f("nms", nms, "suppression when detecting");
  f("nms_beta", nms_beta, "exponent of the DIoU penalty").above(0);
}

HeadOptions head_options(const YoloAttributes& yolo) {
  HeadOptions options;
  const YoloHead& head = yolo.head;
  options.anchors = HeadAnchors{{head.anchors, head.anchors + head.anchor_count}, yolo.anchors_where};
  options.assignment = head.assignment;
  options.class_weights = HeadClassWeights{yolo.class_weights, yolo.class_weights_where};
  if (yolo.automatic_class_weights) options.class_weights = LeftTo::training;
  for_each_value(options, yolo, [](auto& key, const auto& value) { key = value; });
  return options;
}

void apply(const HeadOptions& options, YoloAttributes& yolo) {
  if (const HeadAnchors* anchors = value_of(options.anchors)) {
    yolo.head.anchor_count = static_cast<int>(anchors->list.size());
    std::ranges::copy(anchors->list, yolo.head.anchors);
    yolo.anchors_where = anchors->where;
  }
  if (const AssignmentKind* assignment = value_of(options.assignment)) yolo.head.assignment = *assignment;
  if (options.class_weights) {
    const HeadClassWeights* weights = value_of(options.class_weights);
    yolo.automatic_class_weights = !weights;
    yolo.class_weights = weights ? weights->list : std::vector<float>();
    yolo.class_weights_where = weights ? weights->where : "";
  }
  for_each_value(options, yolo, [](const auto& key, auto& value) {
    if (key) value = *key;
  });
}

}  // namespace brightnet
