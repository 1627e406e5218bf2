#include "layers/model/writer.h"

#include <algorithm>

#include "core/text.h"

namespace brightnet {
namespace {

/// A name that means something else in YAML, in quotes: "a, b", "a: b", "a # b", "null".
std::string yaml_name(const std::string& name) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const bool plain = !name.empty() && name.find_first_not_of("_.-") == 0 &&
                     name.find_first_not_of(std::string(letters) + "0123456789_.-") == std::string::npos;
  return plain && lower_case(name) != "null" ? name : yaml_quoted(name);
}

/// The activation that most convolutions have.
Activation usual_activation(const Model& model) {
  const auto count = [&](Activation activation) {
    return std::count_if(model.layers.begin(), model.layers.end(), [&](const LayerDescription& layer) {
      const auto* conv = std::get_if<ConvAttributes>(&layer.attributes);
      return conv && conv->activation == activation;
    });
  };
  const std::vector<Activation> all = enum_values<Activation>();
  return *std::max_element(all.begin(), all.end(),
                           [&](Activation a, Activation b) { return count(a) < count(b); });
}

std::string flow(const YamlTexts& fields) {
  std::string text;
  for (const auto& [key, value] : fields) text.append(text.empty() ? "" : ", ").append(key + ": " + value);
  return '{' + text + '}';
}

/// The keys that all heads share, for `head:`, and those that differ.
struct HeadTexts {
  YamlTexts shared;
  std::vector<YamlTexts> own;  ///< one per head
};

HeadTexts head_texts(const Model& model) {
  std::vector<YamlTexts> heads;
  for (const LayerDescription& layer : model.layers) {
    if (is_head(layer)) heads.push_back(layer_texts(layer.attributes, Activation::linear));
  }
  const YamlTexts defaults = layer_texts(YoloAttributes(), Activation::linear);
  HeadTexts texts;
  texts.own.resize(heads.size());
  for (size_t key = defaults.size(); key-- > 0;) {
    const bool same = std::all_of(heads.begin(), heads.end(),
                                  [&](const YamlTexts& head) { return head[key] == heads[0][key]; });
    const bool mask = defaults[key].first == "mask";
    if (same && !mask) {
      if (heads[0][key] != defaults[key]) texts.shared.insert(texts.shared.begin(), heads[0][key]);
      continue;
    }
    for (size_t i = 0; i < heads.size(); ++i) {
      if (heads[i][key] == defaults[key]) continue;
      texts.own[i].insert(mask ? texts.own[i].begin() : texts.own[i].begin() + 1, heads[i][key]);
    }
  }
  return texts;
}

/// What a layer reads, unless that is the layer before it.
std::string from_text(const Model& model, size_t index) {
  const std::vector<int>& inputs = model.layers[index].inputs;
  if (inputs.size() == 1 && inputs[0] == static_cast<int>(index) - 1) return "";
  std::string names;
  for (const int input : inputs) {
    names.append(names.empty() ? "" : ", ");
    names.append(input == network_input ? "input" : yaml_name(model.layers[input].name));
  }
  return inputs.size() == 1 ? names : '[' + names + ']';
}

/// Whether a convolution's filters follow from the head that reads it: the reader sets them before any other layer reads
/// them, and knows no groups.
std::vector<bool> automatic_filters(const Model& model) {
  std::vector<bool> read(model.layers.size()), automatic(model.layers.size());
  for (const LayerDescription& layer : model.layers) {
    for (const int input : layer.inputs) {
      if (input == network_input || read[input]) continue;
      read[input] = true;
      const auto* conv = std::get_if<ConvAttributes>(&model.layers[input].attributes);
      automatic[input] = conv && conv->groups == 1 && is_head(layer);
    }
  }
  return automatic;
}

}  // namespace

std::string write_model_yaml(const Model& model, const std::vector<std::string>& header, bool with_lines) {
  const Activation usual = usual_activation(model);
  const HeadTexts heads = head_texts(model);
  const std::vector<bool> automatic = automatic_filters(model);
  std::string text;
  for (const std::string& line : header) text += "# " + line + '\n';
  const std::string size = model.size.square() ? model.size.text()
                                               : '[' + std::to_string(model.size.height) + ", " +
                                                     std::to_string(model.size.width) + ']';
  text += "name: " + yaml_name(model.name) + "\ninput: {size: " + size +
          ", channels: " + std::to_string(model.channels) + "}\nclasses: " + std::to_string(model.classes) +
          "\nactivation: " + std::string(enum_name(usual)) + "\nhead:\n";
  for (const auto& [key, value] : heads.shared) text += "  " + key + ": " + value + '\n';
  text += "layers:\n";
  size_t head = 0;
  for (size_t i = 0; i < model.layers.size(); ++i) {
    const LayerDescription& layer = model.layers[i];
    YamlTexts fields{{"name", yaml_name(layer.name)}};
    if (const std::string from = from_text(model, i); !from.empty()) fields.emplace_back("from", from);
    YamlTexts own = is_head(layer) ? heads.own[head++] : layer_texts(layer.attributes, usual);
    if (automatic[i]) own[0].second = "auto";
    fields.insert(fields.end(), own.begin(), own.end());
    text += "  - " + Model::kind(layer) + ": " + flow(fields);
    if (with_lines) text += "  # line " + layer.where.substr(layer.where.rfind(':') + 1);
    text += '\n';
  }
  return text;
}

bool same_layers(const std::vector<LayerDescription>& a, const std::vector<LayerDescription>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.inputs == y.inputs && x.attributes.index() == y.attributes.index() && x.channels == y.channels &&
           layer_texts(x.attributes, Activation::linear) == layer_texts(y.attributes, Activation::linear);
  });
}

}  // namespace brightnet
