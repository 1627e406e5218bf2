#include "layers/model/layer_kinds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace brightnet {
namespace {

std::string unless_alike(InputChannels in, const std::string& what) {
  if (in[0] == in[1]) return "";
  return what + " layers of equally many channels, and these have " + std::to_string(in[0]) + " and " +
         std::to_string(in[1]);
}

/// A flow list of numbers or of lists.
template <typename Items, typename Node>
YAML::Node list_node(const Items& items, Node&& node) {
  YAML::Node list(YAML::NodeType::Sequence);
  for (const auto& item : items) list.push_back(node(item));
  return list;
}

bool is_word(const YamlValue& value, const char* word) {
  return value.node.IsScalar() && value.node.Scalar() == word;
}

/// Training replaces `auto` by weights computed from its data; until then all are 1.
void read_class_weights(const YamlValue& value, YoloAttributes& yolo) {
  yolo.automatic_class_weights = is_word(value, "auto");
  yolo.class_weights.clear();
  if (yolo.automatic_class_weights || is_word(value, "off")) return;
  yolo.class_weights = yaml_as<std::vector<float>>(value, "class_weights", "a list of numbers, off or auto");
}

/// Training replaces `auto` by its choice; until then the model file's is used, as for `model`.
void read_assignment(const YamlValue& value, YoloHead& head) {
  if (is_word(value, "auto") || is_word(value, "model")) return;
  const auto name = yaml_as<std::string>(value, "assignment", "a name");
  const auto kind = enum_value<AssignmentKind>(name);
  if (!kind) {
    const std::vector<std::string> names = enum_names<AssignmentKind>();
    std::string choices;
    for (const std::string& choice : names) choices += choice + ", ";
    const std::string nearest = nearest_word(name, names);
    throw InputError("'assignment' is '" + name + "' and must be one of: " + choices + "auto, model",
                     value.where(), nearest.empty() ? "" : "Did you mean '" + nearest + "'?");
  }
  head.assignment = *kind;
}

void read_anchors(const YamlValue& value, YoloAttributes& yolo) {
  YoloHead& head = yolo.head;
  // Training replaces `auto` by anchors computed from its data; until then the model file's are used.
  if (is_word(value, "auto") || is_word(value, "model")) return;
  const auto rows = yaml_as<std::vector<std::vector<float>>>(
      value, "anchors", "a list of pairs [width, height], auto or model");
  yolo.anchors_where = value.where();
  if (rows.empty() || rows.size() > max_anchors) {
    throw InputError("'anchors' must list 1 to " + std::to_string(max_anchors) + " pairs", value.where());
  }
  head.anchor_count = static_cast<int>(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto length = [](float side) { return side > 0 && std::isfinite(side); };
    if (rows[i].size() != 2 || !length(rows[i][0]) || !length(rows[i][1])) {
      throw InputError("each anchor is a pair of positive numbers, width and height in pixels of the input",
                       value.where());
    }
    head.anchors[i] = {rows[i][0], rows[i][1]};
  }
}

void read_mask(const YamlValue& value, YoloAttributes& yolo) {
  YoloHead& head = yolo.head;
  const auto mask = yaml_as<std::vector<int>>(value, "mask", "a list of whole numbers");
  if (mask.empty() || mask.size() > max_anchors) throw InputError("'mask' must name anchors", value.where());
  if (head.anchor_count == 0)
    throw InputError("there are no anchors", value.where(), "Write head: {anchors: [[w, h], …]}.");
  head.mask_count = static_cast<int>(mask.size());
  std::copy(mask.begin(), mask.end(), head.mask);
}

}  // namespace

void ConvAttributes::fields(LayerFields& f) {
  f.custom(
      "filters",
      [&](const YamlValue& value) {
        if (value.node.IsScalar() && value.node.Scalar() == "auto") {
          filters = 0;
          return;
        }
        const std::string rule = "a whole number from 1 to " + std::to_string(max_channels) + ", or auto";
        filters = yaml_as<int>(value, "filters", rule);
        if (filters < 1 || filters > max_channels)
          throw InputError("'filters' is " + value.node.Scalar() + " and must be " + rule, value.where());
      },
      [&] { return filters > 0 ? YAML::Node(filters) : YAML::Node("auto"); },
      "output channels, or auto before a yolo layer");
  f("size", size, "side of the kernel").within(1, 31);
  f("stride", stride, 1, "pixels between outputs").within(1, 32);
  f("padding", padding, size / 2, "pixels on every side; -1: size / 2").within(-1, 31);
  if (padding < 0) padding = size / 2;
  f("groups", groups, 1, "of channels that are convolved apart; as many as channels: depthwise")
      .within(1, max_channels);
  f("batch_norm", batch_norm, true, "normalise over the batch, else add a bias");
  f("activation", activation, f.model_activation(), "applied last");
  std::string precision = full_precision ? "fp32" : "network";
  f.choice("precision", precision, "network", {"network", "fp32"}, "fp32: whatever the network computes in");
  full_precision = precision == "fp32";
}

std::string ConvAttributes::refusal(InputChannels in) const {
  if (in[0] % groups != 0)
    return std::to_string(in[0]) + " channels cannot be convolved in " + std::to_string(groups) +
           " equal groups";
  // `auto` filters are those of a head, whose predictions are no groups.
  if (groups == 1 || (filters > 0 && filters % groups == 0)) return "";
  return "a convolution in " + std::to_string(groups) +
         " groups has a number of filters that is a multiple of it";
}

std::vector<ParameterSpec> ConvAttributes::parameters(InputChannels in) const {
  std::vector<ParameterSpec> list{{"weight", ParameterKind::weight, {filters, size, size, in[0] / groups}}};
  if (!batch_norm) {
    list.push_back({"bias", ParameterKind::bias, {filters}});
    return list;
  }
  list.push_back({"scale", ParameterKind::scale, {filters}});
  list.push_back({"shift", ParameterKind::shift, {filters}});
  list.push_back({"running_mean", ParameterKind::running_mean, {filters}});
  list.push_back({"running_variance", ParameterKind::running_variance, {filters}});
  return list;
}

std::string SppAttributes::refusal(InputChannels) const {
  const bool fit = std::all_of(windows.begin(), windows.end(),
                               [](int window) { return window >= 2 && window <= 15 && window % 2 == 1; });
  return fit ? "" : "the windows of an spp layer are odd and at most 15";
}

int64_t ConcatAttributes::channels(InputChannels in) const {
  return std::accumulate(in.begin(), in.end(), int64_t{0});
}

std::string SplitAttributes::refusal(InputChannels in) const {
  if (in[0] % groups == 0) return "";
  return std::to_string(in[0]) + " channels cannot be split into " + std::to_string(groups) + " equal groups";
}

std::string ShortcutAttributes::refusal(InputChannels in) const {
  return partial ? "" : unless_alike(in, "a shortcut adds");
}

std::string WeightedSumAttributes::refusal(InputChannels in) const {
  if (in.size() < 2 || in.size() > most_summed_inputs)
    return "a weighted sum reads 2 to " + std::to_string(most_summed_inputs) + " layers";
  for (const int other : in) {
    if (const std::string why = unless_alike(std::array{in[0], other}, "a weighted sum adds"); !why.empty())
      return why;
  }
  return "";
}

std::vector<ParameterSpec> WeightedSumAttributes::parameters(InputChannels in) const {
  const auto count = static_cast<int64_t>(in.size());
  if (is_shared(weights)) return {{"weight", ParameterKind::scale, {count}}};
  return {{"weight", ParameterKind::scale, {count, in[0]}}};
}

std::string ScaleChannelsAttributes::refusal(InputChannels in) const {
  return unless_alike(in, "scale_channels takes");
}

std::string MultiplyAttributes::refusal(InputChannels in) const {
  return unless_alike(in, "a product takes");
}

void YoloAttributes::shared_fields(LayerFields& f) {
  const auto number = [](auto value) { return YAML::Node(yaml_number(value)); };
  const auto pair = [&](const Anchor& anchor) {
    return list_node(std::vector<float>{anchor.w, anchor.h}, number);
  };
  f.custom(
      "anchors", [&](const YamlValue& value) { read_anchors(value, *this); },
      [&] { return list_node(std::span(head.anchors, static_cast<size_t>(head.anchor_count)), pair); },
      "[width, height] in pixels of the input, over all heads; auto: from the data; model: the model's");
  f("scale_xy", head.scale_xy, "s of (σ(t)·s − (s−1)/2 + cell)").within(1, 4);
  f("new_coords", head.new_coords, "sizes are anchor·(2σ(t))²");
  f("ignore_threshold", head.ignore_threshold, "IoU from which an unassigned prediction is left alone")
      .within(0, 1);
  f("truth_threshold", head.truth_threshold, "IoU from which it is pushed to object; 1: never").within(0, 1);
  f.custom(
      "assignment", [&](const YamlValue& value) { read_assignment(value, head); },
      [&] { return YAML::Node(std::string(enum_name(head.assignment))); },
      "how ground-truth boxes are assigned to predictions; auto: as trains best; model: the model's");
  f("anchor_ratio", head.anchor_ratio, "neighbours and simota: sides within this factor").above(1);
  f("iou_threshold", head.iou_threshold, "IoU of sizes from which further anchors are assigned; 1: none")
      .within(0, 1);
  f("iou_loss", head.iou_kind, "kind of box loss");
  f("box_weight", head.box_weight, "λ of the box loss").at_least(0);
  f("objectness_weight", head.objectness_weight, "λ of the objectness loss").at_least(0);
  f("class_weight", head.class_weight, "λ of the class loss").at_least(0);
  f("negative_weight", head.negative_weight, "factor where there is no object").at_least(0);
  f("label_smoothing", head.label_smoothing, "ε of the class targets").within(0, 0.5);
  f("focal_gamma", head.focal_gamma, "focal loss of the classes; 0: none").within(0, 10);
  f("objectness_smooth", head.objectness_smooth, "the objectness target is the IoU");
  f("objectness_gamma", head.objectness_gamma, "gamma of the objectness' quality focal loss; 0: none")
      .at_least(0);
  f("max_delta", head.max_delta, "box gradients are clipped to ± this; 0: not").at_least(0);
  f.custom(
      "class_weights", [&](const YamlValue& value) { read_class_weights(value, *this); },
      [&] { return list_node(class_weights, number); },
      "one factor a class; off: all 1; auto: larger for classes with few objects");
  f("nms", nms, "suppression when detecting");
  f("nms_beta", nms_beta, "exponent of the DIoU penalty").above(0);
}

void YoloAttributes::fields(LayerFields& f) {
  shared_fields(f);
  f.custom(
      "mask", [&](const YamlValue& value) { read_mask(value, *this); },
      [&] {
        return list_node(std::span(head.mask, static_cast<size_t>(head.mask_count)),
                         [](int anchor) { return YAML::Node(anchor); });
      },
      "which anchors are this head's");
}

YamlTexts layer_texts(const LayerAttributes& attributes, Activation activation) {
  return std::visit(
      [&](auto layer) {
        return field_texts([&](Fields& f) {
          LayerFields fields(f, activation, LayerFields::Purpose::writing);
          layer.fields(fields);
        });
      },
      attributes);
}

}  // namespace brightnet
