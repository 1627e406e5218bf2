#include "train/setup/automatic_head.h"

#include <algorithm>
#include <utility>

#include "train/formats/darknet/weights.h"
#include "train/formats/weights.h"
#include "train/setup/automatic_anchors.h"

namespace brightnet {
namespace {

using Keys = std::vector<std::pair<std::string, std::string>>;

// Of the assignments and weights compared in docs/accuracy.md, the best on average over its data sets. A prediction
// of a neighbouring cell reaches the centre with scale_xy: 2 only.
const Keys& recipe() {
  static const Keys keys{{"assignment", "simota"},      {"scale_xy", "2"},   {"new_coords", "true"},
                         {"objectness_smooth", "true"}, {"box_weight", "8"}, {"iou_loss", "ciou"}};
  return keys;
}

const YoloAttributes* first_head(const Model& model) {
  for (const LayerDescription& layer : model.layers) {
    if (const auto* yolo = std::get_if<YoloAttributes>(&layer.attributes)) return yolo;
  }
  return nullptr;
}

/// The recipe's keys and the anchors as another model has them.
Keys keys_of(const YoloAttributes& yolo) {
  Keys keys;
  for (const auto& [key, value] : layer_texts(yolo, Activation::linear)) {
    const bool wanted =
        key == "anchors" || std::any_of(recipe().begin(), recipe().end(),
                                        [&, &name = key](const auto& r) { return r.first == name; });
    if (wanted) keys.emplace_back(key, value);
  }
  return keys;
}

bool is_automatic(const RunConfig& config) {
  const bool otherwise = !config.imported;
  if (!config.head.defined() || !config.head.node.IsMap()) return otherwise;
  const YAML::Node& head = config.head.node;
  const YAML::Node assignment = head["assignment"];
  if (!assignment.IsDefined()) return otherwise;
  return assignment.IsScalar() && assignment.Scalar() == "auto";
}

std::vector<Choice> set_keys(RunConfig& config, const Keys& keys, const std::string& reason) {
  if (!config.head.defined()) config.head.node.reset(YAML::Node(YAML::NodeType::Map));
  std::vector<Choice> choices;
  for (const auto& [key, value] : keys) {
    YAML::Node setting = config.head.node[key];
    if (setting.IsDefined() && !(setting.IsScalar() && setting.Scalar() == "auto")) continue;
    config.head.node[key] = YAML::Load(value);
    choices.push_back({"head." + key, value, reason});
  }
  return choices;
}

}  // namespace

std::vector<Choice> choose_head(RunConfig& config, const Model& model) {
  if (!is_automatic(config)) return {};
  if (!has_pretrained_predictions(model, config.train)) {
    const bool unused = config.head.defined() && config.head.node["iou_threshold"].IsDefined();
    auto choices = set_keys(config, recipe(), "the prediction layers start fresh");
    if (unused) choices.front().reason += "; iou_threshold, which is best_anchor's, has no effect then";
    return choices;
  }
  const std::string reason = "as the pretrained prediction layers were trained";
  if (!is_darknet_weights(config.train.weights)) {
    const auto trained = describe_weights(config.train.weights);
    const YoloAttributes* theirs = trained ? first_head(trained->model) : nullptr;
    if (theirs && theirs->head.anchor_count == first_head(model)->head.anchor_count)
      return set_keys(config, keys_of(*theirs), reason);
  }
  return set_keys(config, {{"assignment", "model"}}, reason);
}

bool is_chosen_with_head(const std::string& key) {
  return key == "head.anchors" || std::any_of(recipe().begin(), recipe().end(),
                                              [&](const auto& own) { return key == "head." + own.first; });
}

}  // namespace brightnet
