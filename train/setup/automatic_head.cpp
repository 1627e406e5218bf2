#include "train/setup/automatic_head.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/log.h"
#include "formats/darknet/weights.h"
#include "formats/weights.h"
#include "train/setup/automatic_anchors.h"

namespace brightnet {
namespace {

using Keys = std::vector<std::pair<std::string, std::string>>;

// The recipe that was chosen in docs/measurements/assignment.md and box_weight.md. A prediction of a neighbouring cell
// reaches the centre with scale_xy: 2 only.
const Keys& recipe() {
  static const Keys keys{{"assignment", "simota"},      {"scale_xy", "2"},   {"new_coords", "true"},
                         {"objectness_smooth", "true"}, {"box_weight", "8"}, {"iou_loss", "ciou"}};
  return keys;
}

// Measured in docs/measurements/assignment.md.
constexpr float static_part = 0.5f;

/// The recipe's keys and the anchors as this head has them.
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

/// Whether the keys that the user did not write are chosen: they go with simota and neighbours, whoever chose these.
bool is_chosen(const RunConfig& config) {
  const bool otherwise = !config.imported;
  if (!config.head.defined() || !config.head.node.IsMap()) return otherwise;
  const YAML::Node& head = config.head.node;
  const YAML::Node assignment = head["assignment"];
  if (!assignment.IsDefined()) return otherwise;
  return assignment.IsScalar() && (assignment.Scalar() == "auto" || assignment.Scalar() == "simota" ||
                                   assignment.Scalar() == "neighbours");
}

bool is_given(const RunConfig& config, const std::string& key) {
  if (!config.head.defined()) return false;
  const YAML::Node& head = config.head.node;
  const YAML::Node setting = head[key];
  return setting.IsDefined() && !(setting.IsScalar() && setting.Scalar() == "auto");
}

std::vector<Choice> set_keys(RunConfig& config, const Keys& keys, const std::string& reason) {
  if (!config.head.defined()) config.head.node.reset(YAML::Node(YAML::NodeType::Map));
  std::vector<Choice> choices;
  for (const auto& [key, value] : keys) {
    if (is_given(config, key)) continue;
    config.head.node[key] = YAML::Load(value);
    choices.push_back({"head." + key, value, reason});
  }
  return choices;
}

/// What pretrained heads were trained with. A key in which they differ from each other has no place in the run's
/// `head:`, which is for all of them: it stays the model's, whose yolo layers have values of their own.
Keys trained_keys(const Model& theirs) {
  const auto heads = yolo_heads(theirs);
  Keys common = keys_of(*heads[0]);
  for (const YoloAttributes* head : heads) {
    const Keys own = keys_of(*head);
    std::erase_if(common,
                  [&](const auto& key) { return std::find(own.begin(), own.end(), key) == own.end(); });
  }
  return common;
}

}  // namespace

std::vector<Choice> choose_head(RunConfig& config, const Model& model) {
  if (!is_chosen(config)) return {};
  if (!has_pretrained_predictions(model, config.train)) {
    auto choices = set_keys(config, recipe(), "the prediction layers start fresh");
    if (!choices.empty() && is_given(config, "iou_threshold"))
      choices.front().reason += "; iou_threshold, which is best_anchor's, has no effect then";
    return choices;
  }
  const std::string reason = "as the pretrained prediction layers were trained";
  if (!is_darknet_weights(config.train.weights)) {
    const auto trained = describe_weights(config.train.weights);
    if (trained && !yolo_heads(trained->model).empty() &&
        yolo_heads(trained->model)[0]->head.anchor_count == yolo_heads(model)[0]->head.anchor_count)
      return set_keys(config, trained_keys(trained->model), reason);
  }
  return set_keys(config, {{"assignment", "model"}}, reason);
}

// Early predictions are no better than chance, and so is what simota takes of them: all candidates learn first.
std::optional<Choice> choose_static_assignment(RunConfig& config, const Model& model) {
  Auto<float>& part = config.train.static_assignment;
  const auto heads = yolo_heads(model);
  const bool simota = !heads.empty() && heads[0]->head.assignment == AssignmentKind::simota;
  if (part.has_value()) {
    if (part > 0 && !simota) {
      log::warn("train.static_assignment has no effect: it is for head.assignment: simota.");
      part = 0.0f;
    }
    return {};
  }
  part = simota && !has_pretrained_predictions(model, config.train) ? static_part : 0.0f;
  if (part == 0) return {};
  return Choice{"train.static_assignment", fmt::format("{:g}", part.value()),
                "simota takes all its candidates at first: early predictions say little"};
}

bool is_chosen_with_head(const std::string& key) {
  return key == "head.anchors" || std::any_of(recipe().begin(), recipe().end(),
                                              [&](const auto& own) { return key == "head." + own.first; });
}

}  // namespace brightnet
