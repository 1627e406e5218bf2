#include "layers/model/layer_yaml.h"

#include <array>
#include <charconv>

namespace brightnet {

const char* activation_text(Activation activation) {
  constexpr const char* names[] = {"linear", "relu", "leaky", "mish", "swish", "logistic"};
  return names[static_cast<size_t>(activation)];
}

namespace {

const char* truth_text(bool value) {
  return value ? "true" : "false";
}

template <typename Items, typename Text>
std::string list_text(const Items& items, Text&& text) {
  std::string list = "[";
  for (const auto& item : items) list.append(list.size() > 1 ? ", " : "").append(text(item));
  return list + ']';
}

YamlFields fields_of(const ConvAttributes& conv, Activation usual) {
  YamlFields fields{{"filters", conv.filters > 0 ? std::to_string(conv.filters) : "auto"},
                    {"size", std::to_string(conv.size)}};
  if (conv.stride != 1) fields.emplace_back("stride", std::to_string(conv.stride));
  if (conv.padding != conv.size / 2) fields.emplace_back("padding", std::to_string(conv.padding));
  if (!conv.batch_norm) fields.emplace_back("batch_norm", "false");
  if (conv.activation != usual) fields.emplace_back("activation", activation_text(conv.activation));
  if (conv.full_precision) fields.emplace_back("precision", "fp32");
  return fields;
}
YamlFields fields_of(const MaxPoolAttributes& pool, Activation) {
  return {{"size", std::to_string(pool.size)}, {"stride", std::to_string(pool.stride)}};
}
YamlFields fields_of(const SppAttributes& spp, Activation) {
  return {{"windows", list_text(spp.windows, [](int window) { return std::to_string(window); })}};
}
YamlFields fields_of(const ConcatAttributes&, Activation) {
  return {};
}
YamlFields fields_of(const SplitAttributes& split, Activation) {
  return {{"groups", std::to_string(split.groups)}, {"part", std::to_string(split.part)}};
}
YamlFields fields_of(const ShortcutAttributes& shortcut, Activation) {
  YamlFields fields;
  if (shortcut.partial) fields.emplace_back("partial", "true");
  if (shortcut.activation != Activation::linear)
    fields.emplace_back("activation", activation_text(shortcut.activation));
  return fields;
}
YamlFields fields_of(const MultiplyAttributes&, Activation) {
  return {};
}
YamlFields fields_of(const UpsampleAttributes& up, Activation) {
  return {{"factor", std::to_string(up.factor)}};
}
YamlFields fields_of(const SpaceToDepthAttributes& fold, Activation) {
  return {{"block", std::to_string(fold.block)}};
}
YamlFields fields_of(const YoloAttributes&, Activation) {
  return {};
}

}  // namespace

std::string yaml_number(double value) {
  std::array<char, 128> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), static_cast<float>(value),
                                 std::chars_format::fixed);
  return {text.data(), end.ptr};
}

YamlFields layer_fields(const LayerAttributes& attributes, Activation activation) {
  return std::visit([&](const auto& layer) { return fields_of(layer, activation); }, attributes);
}

YamlFields head_fields(const YoloAttributes& yolo) {
  const YoloHead& head = yolo.head;
  constexpr const char* losses[] = {"mse", "iou", "giou", "diou", "ciou"};
  const std::vector<Anchor> anchors(head.anchors, head.anchors + head.anchor_count);
  const std::vector<int> mask(head.mask, head.mask + head.mask_count);
  const auto pair = [](const Anchor& anchor) {
    return '[' + yaml_number(anchor.w) + ", " + yaml_number(anchor.h) + ']';
  };
  return {{"anchors", list_text(anchors, pair)},
          {"scale_xy", yaml_number(head.scale_xy)},
          {"new_coords", truth_text(head.new_coords)},
          {"ignore_threshold", yaml_number(head.ignore_threshold)},
          {"truth_threshold", yaml_number(head.truth_threshold)},
          {"iou_threshold", yaml_number(head.iou_threshold)},
          {"iou_loss", losses[static_cast<size_t>(head.iou_kind)]},
          {"box_weight", yaml_number(head.box_weight)},
          {"objectness_weight", yaml_number(head.objectness_weight)},
          {"class_weight", yaml_number(head.class_weight)},
          {"negative_weight", yaml_number(head.negative_weight)},
          {"label_smoothing", yaml_number(head.label_smoothing)},
          {"focal_gamma", yaml_number(head.focal_gamma)},
          {"objectness_smooth", truth_text(head.objectness_smooth)},
          {"max_delta", yaml_number(head.max_delta)},
          {"class_weights", list_text(yolo.class_weights, [](float weight) { return yaml_number(weight); })},
          {"nms", yolo.nms == NmsKind::diou ? "diou" : "greedy"},
          {"nms_beta", yaml_number(yolo.nms_beta)},
          {"mask", list_text(mask, [](int anchor) { return std::to_string(anchor); })}};
}

}  // namespace brightnet
