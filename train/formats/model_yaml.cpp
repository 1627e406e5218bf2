#include "train/formats/model_yaml.h"

#include <algorithm>
#include <array>

#include "train/formats/layer_yaml.h"

namespace brightnet {
namespace {

bool is_head(const LayerDescription& layer) {
  return std::holds_alternative<YoloAttributes>(layer.attributes);
}

/// The activation that most convolutions have.
Activation usual_activation(const Model& model) {
  std::array<int, 6> count{};
  for (const LayerDescription& layer : model.layers) {
    if (const auto* conv = std::get_if<ConvAttributes>(&layer.attributes))
      ++count[static_cast<size_t>(conv->activation)];
  }
  return static_cast<Activation>(std::max_element(count.begin(), count.end()) - count.begin());
}

std::string flow(const YamlFields& fields) {
  std::string text;
  for (const auto& [key, value] : fields) text += (text.empty() ? "" : ", ") + key + ": " + value;
  return '{' + text + '}';
}

/// What all heads share, for `head:`, and what each one says itself.
struct HeadTexts {
  YamlFields shared;
  std::vector<YamlFields> own;  ///< one a head
};

HeadTexts head_texts(const Model& model) {
  std::vector<YamlFields> heads;
  for (const LayerDescription& layer : model.layers) {
    if (is_head(layer)) heads.push_back(head_fields(std::get<YoloAttributes>(layer.attributes)));
  }
  const YamlFields defaults = head_fields({});
  HeadTexts texts;
  texts.own.resize(heads.size());
  for (size_t key = defaults.size(); key-- > 0;) {
    const bool same = std::all_of(heads.begin(), heads.end(),
                                  [&](const YamlFields& head) { return head[key] == heads[0][key]; });
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

}  // namespace

std::string write_model_yaml(const Model& model, const std::vector<std::string>& header) {
  std::string text;
  for (const std::string& line : header) text += "# " + line + '\n';
  const Activation usual = usual_activation(model);
  const HeadTexts heads = head_texts(model);
  text += "name: " + model.name + '\n';
  text +=
      "input: {size: " + std::to_string(model.size) + ", channels: " + std::to_string(model.channels) + "}\n";
  text += "classes: " + std::to_string(model.classes) + '\n';
  text += std::string("activation: ") + activation_text(usual) + '\n';
  text += "head:\n";
  for (const auto& [key, value] : heads.shared) text += "  " + key + ": " + value + '\n';
  text += "layers:\n";
  size_t head = 0;
  for (size_t i = 0; i < model.layers.size(); ++i) {
    const LayerDescription& layer = model.layers[i];
    YamlFields fields{{"name", "n" + std::to_string(i)}};
    std::string from;
    for (const int input : layer.inputs)
      from += (from.empty() ? "" : ", ") + (input == network_input ? "input" : "n" + std::to_string(input));
    fields.emplace_back("from", '[' + from + ']');
    YamlFields own = layer_fields(layer.attributes, usual);
    if (is_head(layer)) own = heads.own[head++];
    if (i + 1 < model.layers.size() && is_head(model.layers[i + 1]) && own[0].first == "filters")
      own[0].second = "auto";
    fields.insert(fields.end(), own.begin(), own.end());
    text += "  - " + Model::kind(layer) + ": " + flow(fields) + '\n';
  }
  return text;
}

bool same_layers(const std::vector<LayerDescription>& a, const std::vector<LayerDescription>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    if (x.inputs != y.inputs || x.attributes.index() != y.attributes.index() || x.channels != y.channels)
      return false;
    if (is_head(x)) {
      return head_fields(std::get<YoloAttributes>(x.attributes)) ==
             head_fields(std::get<YoloAttributes>(y.attributes));
    }
    return layer_fields(x.attributes, Activation::linear) == layer_fields(y.attributes, Activation::linear);
  });
}

}  // namespace brightnet
