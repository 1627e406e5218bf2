#include "layers/model/quantization.h"

#include <algorithm>
#include <cmath>

#include "layers/model/model.h"

namespace brightnet {

std::vector<int> shared_ranges(const Model& model) {
  std::vector<int> first(model.layers.size() + 1);
  for (size_t i = 0; i < first.size(); ++i) first[i] = static_cast<int>(i);
  for (size_t i = 0; i < model.layers.size(); ++i) {
    if (!moves_values(model.layers[i])) continue;
    for (const int input : model.layers[i].inputs) {
      const int a = first[i + 1], b = first[input + 1];
      std::replace(first.begin(), first.end(), std::max(a, b), std::min(a, b));
    }
  }
  return first;
}

namespace {

bool is_usable(const QuantizedRange& range) {
  return std::isfinite(range.scale) && range.scale > 0 && range.zero_point >= 0 &&
         range.zero_point <= largest_quantized;
}

bool is_usable(float scale) {
  return std::isfinite(scale) && scale > 0;
}

}  // namespace

std::string quantization_refusal(const Model& model) {
  const Quantization& quantization = model.quantization;
  if (quantization.empty()) return "";
  if (quantization.size() != model.layers.size()) return "it is of another number of layers";
  const std::vector<int> ranges = shared_ranges(model);
  std::vector<std::optional<QuantizedRange>> found(ranges.size());
  for (size_t i = 0; i < quantization.size(); ++i) {
    const LayerDescription& description = model.layers[i];
    const LayerQuantization& layer = quantization[i];
    const std::string name = "the layer '" + description.name + "'";
    if ((layer.output && !is_usable(*layer.output)) ||
        (layer.before_activation && !is_usable(*layer.before_activation)) ||
        !std::all_of(layer.weight_scales.begin(), layer.weight_scales.end(),
                     [](float scale) { return is_usable(scale); }))
      return name + " has a scale or a zero point that is none";
    if (layer.output) {
      auto& range = found[ranges[i + 1]];
      if (range && range != layer.output) return name + " has another range than what it shares one with";
      range = layer.output;
    }
    if (layer.weight_scales.empty()) continue;
    const auto* conv = std::get_if<ConvAttributes>(&description.attributes);
    if (!conv || static_cast<size_t>(conv->filters) != layer.weight_scales.size())
      return name + " has not as many scales as output channels";
    const int input = description.inputs[0];
    if (input != network_input && !quantization[input].output)
      return name + " reads an output that has no range";
  }
  return "";
}

}  // namespace brightnet
