#include "layers/model/model.h"

#include "layers/model/writer.h"

namespace brightnet {

namespace {

std::string sides_text(const Shape& shape) {
  return std::to_string(shape.w) + 'x' + std::to_string(shape.h);
}

}  // namespace

std::string Model::yaml() const {
  if (description.IsNull()) return write_model_yaml(*this);
  YAML::Emitter emitter;
  emitter << description;
  return std::string(emitter.c_str()) + '\n';
}

std::string Model::kind(const LayerDescription& layer) {
  return std::visit([](const auto& attributes) { return std::string(attributes.kind); }, layer.attributes);
}

int Model::channels_of(int input) const {
  return input == network_input ? channels : layers[input].channels;
}

bool is_head(const LayerDescription& layer) {
  return std::holds_alternative<YoloAttributes>(layer.attributes);
}

std::vector<bool> predicting_layers(const Model& model) {
  std::vector<bool> predicts(model.layers.size());
  for (const LayerDescription& layer : model.layers) {
    if (is_head(layer)) predicts[layer.inputs[0]] = true;
  }
  return predicts;
}

bool reads_one_pixel(const LayerDescription& layer, size_t input) {
  return std::visit(
      [&]<LayerKind Kind>(const Kind&) {
        if constexpr (requires { Kind::second_is_one_pixel; }) {
          return Kind::second_is_one_pixel && input == 1;
        } else {
          return false;
        }
      },
      layer.attributes);
}

bool moves_values(const LayerDescription& layer) {
  return std::visit(
      []<LayerKind Kind>(const Kind&) {
        return requires {
          Kind::moves_values;
        };
      },
      layer.attributes);
}

std::vector<double> layer_scales(const std::vector<LayerDescription>& layers) {
  std::vector<double> scales;
  for (const LayerDescription& layer : layers) {
    const int source = layer.inputs[0];
    const double scale = source == network_input ? 1 : scales[source];
    scales.push_back(std::visit([&](const auto& kind) { return kind.scale(scale); }, layer.attributes));
  }
  return scales;
}

std::vector<double> forward_flops(const Model& model, const InputSize& size) {
  const std::vector<double> strides = layer_scales(model.layers);
  std::vector<double> flops;
  for (size_t i = 0; i < model.layers.size(); ++i) {
    const LayerDescription& layer = model.layers[i];
    flops.push_back(0);
    const auto* conv = std::get_if<ConvAttributes>(&layer.attributes);
    if (!conv) continue;
    const double outputs = strides[i] == whole_image ? 1 : size.pixels() / (strides[i] * strides[i]);
    const double inputs = static_cast<double>(model.channels_of(layer.inputs[0])) / conv->groups;
    flops.back() = 2.0 * conv->filters * conv->size * conv->size * inputs * outputs;
  }
  return flops;
}

Shape output_shape(const LayerDescription& layer, const std::vector<Shape>& inputs) {
  std::vector<int> channels;
  for (const Shape& input : inputs) channels.push_back(input.c);
  const Shape& in = inputs[0];
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Shape& other = inputs[i];
    const bool one_pixel = reads_one_pixel(layer, i);
    const Shape wanted = one_pixel ? Shape{in.n, 1, 1, other.c} : Shape{in.n, in.h, in.w, other.c};
    if (other == wanted) continue;
    throw InputError("'" + layer.name + "' reads a map of " + sides_text(in) + " pixels and one of " +
                         sides_text(other) + ", which must have " + sides_text(wanted),
                     layer.where, "Check the sizes, strides and paddings of the layers before it.");
  }
  const Shape out = std::visit(
      [&](const auto& kind) {
        return Shape{in.n, kind.side(in.h), kind.side(in.w), static_cast<int>(kind.channels(channels))};
      },
      layer.attributes);
  if (out.h > 0 && out.w > 0) return out;
  std::string keys;
  for (const auto& [key, value] : layer_texts(layer.attributes, Activation::linear))
    keys.append(keys.empty() ? "" : ", ").append(key + ": " + value);
  throw InputError("'" + layer.name + "' gets a map of " + std::to_string(in.w) + "x" + std::to_string(in.h) +
                       " pixels, which is too small for it or no multiple of what it takes (" +
                       Model::kind(layer) + ": {" + keys + "})",
                   layer.where, "Use another input size.");
}

std::vector<ParameterSpec> parameters_of(const Model& model, const LayerDescription& layer) {
  std::vector<int> channels;
  for (const int input : layer.inputs) channels.push_back(model.channels_of(input));
  return std::visit(
      [&]<LayerKind Kind>(const Kind& kind) -> std::vector<ParameterSpec> {
        if constexpr (requires { kind.parameters(channels); }) {
          return kind.parameters(channels);
        } else {
          return {};
        }
      },
      layer.attributes);
}

}  // namespace brightnet
