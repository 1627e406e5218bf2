#include "layers/model/model_attributes.h"

#include <algorithm>
#include <cmath>

namespace brightnet {
namespace {

void reference_fields(Fields& f, LayerReference& reference) {
  f("name", reference.name, "what other layers call it");
  f.custom(
      "from",
      [&](const YamlValue& value) {
        reference.from = value.node.IsScalar() ? std::vector<std::string>{value.node.Scalar()}
                                               : yaml_as<std::vector<std::string>>(value, "from");
        if (reference.from.empty()) throw InputError("'from' names no layer", value.where());
      },
      [] { return YAML::Node(); }, "the layers it reads");
}

void activation_field(Fields& f, Activation& activation) {
  std::string name = activation_names()[static_cast<size_t>(activation)];
  f.choice("activation", name, activation_names(), "applied last");
  activation = parse_activation(name);
}

void conv_fields(Fields& f, ConvAttributes& conv) {
  f.custom(
      "filters",
      [&](const YamlValue& value) {
        if (value.node.IsScalar() && value.node.Scalar() == "auto") {
          conv.filters = 0;
          return;
        }
        const std::string rule = "a whole number from 1 to " + std::to_string(max_channels) + ", or auto";
        conv.filters = yaml_as<int>(value, "filters", rule);
        if (conv.filters < 1 || conv.filters > max_channels)
          throw InputError("'filters' is " + value.node.Scalar() + " and must be " + rule, value.where());
      },
      [] { return YAML::Node(); }, "output channels, or auto before a yolo layer");
  f("size", conv.size, "side of the kernel").within(1, 31);
  f("stride", conv.stride, "pixels between outputs").within(1, 32);
  f("padding", conv.padding, "pixels on every side; -1: size / 2").within(-1, 31);
  f("batch_norm", conv.batch_norm, "normalise over the batch, else add a bias");
  activation_field(f, conv.activation);
  std::string precision = conv.full_precision ? "fp32" : "network";
  f.choice("precision", precision, {"network", "fp32"}, "fp32: whatever the network computes in");
  conv.full_precision = precision == "fp32";
}

template <typename Enum>
void enum_choice(Fields& f, const char* key, Enum& value, const std::vector<std::string>& names,
                 const char* doc) {
  std::string name = names[static_cast<size_t>(value)];
  f.choice(key, name, names, doc);
  value = static_cast<Enum>(std::find(names.begin(), names.end(), name) - names.begin());
}

void anchors_field(Fields& f, YoloAttributes& yolo) {
  YoloHead& head = yolo.head;
  f.custom(
      "anchors",
      [&](const YamlValue& value) {
        // Training replaces `auto` by the anchors of its data; until then those of the model's file stand.
        if (value.node.IsScalar() && value.node.Scalar() == "auto" && head.anchor_count > 0) return;
        const auto rows = yaml_as<std::vector<std::vector<float>>>(
            value, "anchors", "a list of pairs [width, height], or auto");
        yolo.anchors_where = value.where();
        if (rows.empty() || rows.size() > max_anchors) {
          throw InputError("'anchors' must list 1 to " + std::to_string(max_anchors) + " pairs",
                           value.where());
        }
        head.anchor_count = static_cast<int>(rows.size());
        for (size_t i = 0; i < rows.size(); ++i) {
          const auto length = [](float side) { return side > 0 && std::isfinite(side); };
          if (rows[i].size() != 2 || !length(rows[i][0]) || !length(rows[i][1])) {
            throw InputError(
                "each anchor is a pair of positive numbers, width and height in pixels of the input",
                value.where());
          }
          head.anchors[i] = {rows[i][0], rows[i][1]};
        }
      },
      [] { return YAML::Node(); },
      "[width, height] in pixels of the input, over all heads; auto: from the data");
}

void head_fields(Fields& f, YoloAttributes& yolo) {
  YoloHead& head = yolo.head;
  anchors_field(f, yolo);
  f("scale_xy", head.scale_xy, "s of (σ(t)·s − (s−1)/2 + cell)").within(1, 4);
  f("new_coords", head.new_coords, "sizes are anchor·(2σ(t))²");
  f("ignore_threshold", head.ignore_threshold, "IoU from which an unassigned prediction is left alone")
      .within(0, 1);
  f("truth_threshold", head.truth_threshold, "IoU from which it is pushed to object; 1: never").within(0, 1);
  f("iou_threshold", head.iou_threshold, "IoU of sizes from which further anchors are assigned; 1: none")
      .within(0, 1);
  enum_choice(f, "iou_loss", head.iou_kind, {"mse", "iou", "giou", "diou", "ciou"}, "kind of box loss");
  f("box_weight", head.box_weight, "λ of the box loss").at_least(0);
  f("objectness_weight", head.objectness_weight, "λ of the objectness loss").at_least(0);
  f("class_weight", head.class_weight, "λ of the class loss").at_least(0);
  f("negative_weight", head.negative_weight, "factor where there is no object").at_least(0);
  f("label_smoothing", head.label_smoothing, "ε of the class targets").within(0, 0.5);
  f("focal_gamma", head.focal_gamma, "focal loss of the classes; 0: none").within(0, 10);
  f("objectness_smooth", head.objectness_smooth, "the objectness target is the IoU");
  f("max_delta", head.max_delta, "box gradients are clipped to ± this; 0: not").at_least(0);
  f("class_weights", yolo.class_weights, "one factor a class; empty: all 1");
  enum_choice(f, "nms", yolo.nms, {"greedy", "diou"}, "suppression when detecting");
  f("nms_beta", yolo.nms_beta, "exponent of the DIoU penalty").above(0);
}

void yolo_fields(Fields& f, YoloAttributes& yolo) {
  head_fields(f, yolo);
  std::vector<int> mask;
  f("mask", mask, "which anchors are this head's");
  f.custom(
      "mask",
      [&](const YamlValue& value) {
        YoloHead& head = yolo.head;
        if (mask.empty() || mask.size() > max_anchors)
          throw InputError("'mask' must name anchors", value.where());
        head.mask_count = static_cast<int>(mask.size());
        for (size_t i = 0; i < mask.size(); ++i) {
          if (mask[i] < 0 || mask[i] >= head.anchor_count) {
            throw InputError("'mask' names anchor " + std::to_string(mask[i]) + ", but there are " +
                                 std::to_string(head.anchor_count) + ", counted from 0",
                             value.where(), "The anchors are listed at " + yolo.anchors_where + '.');
          }
          head.mask[i] = mask[i];
        }
      },
      [] { return YAML::Node(); }, "");
}

}  // namespace

const std::vector<std::string>& layer_kinds() {
  static const std::vector<std::string> kinds{"conv",     "max_pool", "spp",      "concat",         "split",
                                              "shortcut", "multiply", "upsample", "space_to_depth", "yolo"};
  return kinds;
}

const std::vector<std::string>& activation_names() {
  static const std::vector<std::string> names{"linear", "relu", "leaky", "mish", "swish", "logistic"};
  return names;
}

Activation parse_activation(const std::string& name) {
  const auto& names = activation_names();
  return static_cast<Activation>(std::find(names.begin(), names.end(), name) - names.begin());
}

void read_head(const YamlValue& value, YoloAttributes& head) {
  read_fields(value, [&](Fields& f) { head_fields(f, head); });
}

LayerAttributes read_layer(const std::string& kind, const YamlValue& value, Activation activation,
                           const YoloAttributes& head, LayerReference& reference) {
  const auto read = [&](auto attributes, auto&& fields) -> LayerAttributes {
    read_fields(value, [&](Fields& f) {
      reference_fields(f, reference);
      fields(f, attributes);
    });
    return attributes;
  };
  if (kind == "conv") return read(ConvAttributes{.activation = activation}, conv_fields);
  if (kind == "max_pool") {
    return read(MaxPoolAttributes{}, [](Fields& f, MaxPoolAttributes& pool) {
      f("size", pool.size, "side of the window").within(1, 15);
      f("stride", pool.stride, "pixels between windows").within(1, 15);
    });
  }
  if (kind == "spp") {
    return read(SppAttributes{}, [](Fields& f, SppAttributes& spp) {
      f("windows", spp.windows, "sides of the stride-1 windows, ascending").at_least(1);
    });
  }
  if (kind == "concat") return read(ConcatAttributes{}, [](Fields&, ConcatAttributes&) {});
  if (kind == "split") {
    return read(SplitAttributes{}, [](Fields& f, SplitAttributes& split) {
      f("groups", split.groups, "into how many groups the channels are split").at_least(1);
      f("part", split.part, "which of them is kept, from 0").within(0, split.groups - 1);
    });
  }
  if (kind == "shortcut") {
    return read(ShortcutAttributes{}, [](Fields& f, ShortcutAttributes& shortcut) {
      activation_field(f, shortcut.activation);
      f("partial", shortcut.partial, "the second may have other channels: the common ones are added");
    });
  }
  if (kind == "upsample") {
    return read(UpsampleAttributes{}, [](Fields& f, UpsampleAttributes& up) {
      f("factor", up.factor, "pixels made of one, each way").within(1, 8);
    });
  }
  if (kind == "multiply") return read(MultiplyAttributes{}, [](Fields&, MultiplyAttributes&) {});
  if (kind == "space_to_depth") {
    return read(SpaceToDepthAttributes{}, [](Fields& f, SpaceToDepthAttributes& fold) {
      f("block", fold.block, "side of the block of pixels that become one").within(1, 8);
    });
  }
  if (kind == "yolo") return read(YoloAttributes{head}, yolo_fields);
  const std::string nearest = nearest_word(kind, layer_kinds());
  std::string remedy = "Known kinds:";
  for (const auto& known : layer_kinds()) remedy += ' ' + known;
  throw InputError("unknown kind of layer '" + kind + "'", value.where(),
                   nearest.empty() ? remedy + '.' : "Did you mean '" + nearest + "'?");
}

}  // namespace brightnet
