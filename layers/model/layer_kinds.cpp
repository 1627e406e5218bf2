#include "layers/model/layer_kinds.h"

#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>

namespace brightnet {
namespace {

std::string unless_alike(InputChannels in, const std::string& what) {
  if (in[0] == in[1]) return "";
  return what + " layers of equally many channels, and these have " + std::to_string(in[0]) + " and " +
         std::to_string(in[1]);
}

void read_mask(const YamlValue& value, YoloAttributes& yolo) {
  YoloHead& head = yolo.head;
  const auto mask = yaml_as<std::vector<int>>(value, "mask", "a list of whole numbers");
  if (mask.empty() || mask.size() > max_head_anchors) {
    throw InputError(fmt::format("'mask' must name 1 to {} anchors", max_head_anchors), value.where());
  }
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
         " groups has a number of filters that is a multiple of it, not " +
         (filters > 0 ? std::to_string(filters) : "auto");
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

std::vector<int> SppAttributes::largest_first() const {
  std::vector<int> sorted = windows;
  std::sort(sorted.rbegin(), sorted.rend());
  return sorted;
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

std::string ChannelShuffleAttributes::refusal(InputChannels in) const {
  if (in[0] % groups == 0) return "";
  return std::to_string(in[0]) + " channels cannot be shuffled in " + std::to_string(groups) +
         " equal groups";
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

void YoloAttributes::fields(LayerFields& f) {
  HeadOptions keys = head_options(*this);
  f.keys_of(keys);
  apply(keys, *this);
  f.custom(
      "mask", [&](const YamlValue& value) { read_mask(value, *this); },
      [&] {
        YAML::Node list(YAML::NodeType::Sequence);
        for (int i = 0; i < head.mask_count; ++i) list.push_back(head.mask[i]);
        return list;
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
