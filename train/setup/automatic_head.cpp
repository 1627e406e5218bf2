#include "train/setup/automatic_head.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/log.h"
#include "formats/darknet/weights.h"
#include "formats/weights.h"
#include "train/setup/automatic_anchors.h"

namespace brightnet {
namespace {

// The recipe that was chosen in docs/measurements/assignment.md and box_weight.md. A prediction of a neighbouring cell
// reaches the centre with scale_xy: 2 only.
HeadOptions recipe() {
  HeadOptions head;
  head.assignment = AssignmentKind::simota;
  head.scale_xy = 2.0f;
  head.new_coords = true;
  head.objectness_smooth = true;
  head.box_weight = 8.0f;
  head.iou_loss = IouKind::ciou;
  return head;
}

// Measured in docs/measurements/assignment.md.
constexpr float static_part = 0.5f;

/// Calls visit(name, key of each of the options) for the keys that are chosen together.
template <typename Visit, typename... Options>
void for_each_chosen(Visit&& visit, Options&... heads) {
  visit("assignment", heads.assignment...);
  visit("scale_xy", heads.scale_xy...);
  visit("new_coords", heads.new_coords...);
  visit("objectness_smooth", heads.objectness_smooth...);
  visit("box_weight", heads.box_weight...);
  visit("iou_loss", heads.iou_loss...);
  visit("anchors", heads.anchors...);
}

template <typename T>
bool is_given(const std::optional<T>& key) {
  return key.has_value();
}
template <typename T>
bool is_given(const LeavableKey<T>& key) {
  return key && !is_left_to(key, LeftTo::training);
}

/// Whether the keys that the user did not write are chosen: they go with simota and neighbours, whoever chose these.
bool is_chosen(const RunConfig& config) {
  if (!config.head.assignment) return !config.imported;
  if (const AssignmentKind* kind = value_of(config.head.assignment))
    return *kind == AssignmentKind::simota || *kind == AssignmentKind::neighbours;
  return is_left_to(config.head.assignment, LeftTo::training);
}

/// Fills in those of the chosen keys that the user did not give.
std::vector<Choice> take(RunConfig& config, HeadOptions chosen, const std::string& reason) {
  const YamlTexts texts = field_texts([&](Fields& f) { chosen.fields(f); });
  std::vector<Choice> choices;
  for_each_chosen(
      [&](const std::string& name, auto& own, const auto& other) {
        if (is_given(own) || !other) return;
        own = other;
        const auto text = std::ranges::find(texts, name, [](const auto& field) { return field.first; });
        choices.push_back({"head." + name, text->second, reason});
      },
      config.head, chosen);
  return choices;
}

/// What pretrained heads were trained with. A key in which they differ from each other has no place in the run's
/// `head:`, which is for all of them: it stays the model's, whose yolo layers have values of their own.
HeadOptions trained_keys(const Model& theirs) {
  const auto heads = yolo_heads(theirs);
  HeadOptions common = head_options(*heads[0]);
  for (const YoloAttributes* head : heads) {
    const HeadOptions other = head_options(*head);
    for_each_chosen(
        [](const char*, auto& key, const auto& own) {
          if (key != own) key.reset();
        },
        common, other);
  }
  return common;
}

}  // namespace

std::vector<Choice> choose_head(RunConfig& config, const Model& model) {
  if (!is_chosen(config)) return {};
  if (!has_pretrained_predictions(model, config.train)) {
    auto choices = take(config, recipe(), "the prediction layers start fresh");
    if (!choices.empty() && config.head.iou_threshold)
      choices.front().reason += "; head.iou_threshold has no effect then";
    return choices;
  }
  const std::string reason = "as the pretrained prediction layers were trained";
  if (!is_darknet_weights(config.train.weights)) {
    const auto trained = describe_weights(config.train.weights);
    if (trained && !yolo_heads(trained->model).empty() &&
        yolo_heads(trained->model)[0]->head.anchor_count == yolo_heads(model)[0]->head.anchor_count)
      return take(config, trained_keys(trained->model), reason);
  }
  HeadOptions of_model;
  of_model.assignment = LeftTo::model;
  return take(config, of_model, reason);
}

// Early predictions are no better than chance, and so is what simota takes of them: all candidates learn first.
std::optional<Choice> choose_static_assignment(RunConfig& config, const Model& model) {
  Auto<float>& part = config.train.static_assignment;
  const auto heads = yolo_heads(model);
  const bool simota = !heads.empty() && heads[0]->head.assignment == AssignmentKind::simota;
  if (part.has_value()) {
    if (part > 0 && !simota) {
      log::warn("train.static_assignment has no effect: it belongs to head.assignment: simota.");
      part = 0.0f;
    }
    return {};
  }
  part = simota && !has_pretrained_predictions(model, config.train) ? static_part : 0.0f;
  if (part == 0) return {};
  return Choice{
      "train.static_assignment", fmt::format("{:g}", part.value()),
      "first part of the run in which an object is learned by all predictions near it: early ones cannot be ranked yet"};
}

bool is_chosen_with_head(const std::string& key) {
  bool found = false;
  const HeadOptions any;
  for_each_chosen([&](const std::string& name, const auto&) { found |= key == "head." + name; }, any);
  return found;
}

}  // namespace brightnet
