#include "tune/tuned_keys.h"

#include <cmath>
#include <set>

#include <fmt/format.h>

#include "core/text.h"

namespace brightnet {
namespace {

// Loss weights, rates and strengths of augmentation, as in YOLOv4 (Bochkovskiy et al. 2020, §3.4). The ranges
// only keep the search out of places where no detector trains.
constexpr TunedKey table[] = {
    {"train.batch", KeyKind::integer, 1, 256, 0.5, false},
    {"optimizer.rate", KeyKind::factor, 1e-5, 0.5, 0.5, true},
    {"optimizer.decay", KeyKind::factor, 1e-6, 0.5, 0.6, true},
    {"optimizer.momentum", KeyKind::share, 0.6, 0.98, 0.03, false},
    {"schedule.warmup", KeyKind::factor, 0.1, 10000, 0.4, false},
    {"schedule.final", KeyKind::factor, 0.0001, 1, 0.6, false},
    {"head.box_weight", KeyKind::factor, 0.1, 50, 0.4, true},
    {"head.objectness_weight", KeyKind::factor, 0.05, 20, 0.4, true},
    {"head.class_weight", KeyKind::factor, 0.05, 20, 0.4, true},
    {"head.negative_weight", KeyKind::factor, 0.05, 5, 0.3, false},
    {"head.iou_threshold", KeyKind::share, 0.1, 1, 0.15, false},
    {"head.ignore_threshold", KeyKind::share, 0.3, 0.95, 0.1, false},
    {"head.label_smoothing", KeyKind::share, 0, 0.2, 0.03, false},
    {"head.focal_gamma", KeyKind::share, 0, 3, 0.5, false},
    {"head.objectness_gamma", KeyKind::share, 0, 3, 0.5, false},
    {"augment.mosaic", KeyKind::share, 0, 1, 0.2, true},
    {"augment.mixup", KeyKind::share, 0, 0.5, 0.1, true},
    {"augment.flip", KeyKind::share, 0, 0.5, 0.15, false},
    {"augment.jitter", KeyKind::share, 0, 0.45, 0.08, true},
    {"augment.resize", KeyKind::factor, 1, 2.5, 0.2, true},
    {"augment.hue", KeyKind::share, 0, 0.2, 0.03, true},
    {"augment.saturation", KeyKind::factor, 1, 3, 0.2, true},
    {"augment.exposure", KeyKind::factor, 1, 3, 0.2, true},
    {"augment.rotate", KeyKind::share, 0, 45, 5, false},
    {"augment.scale", KeyKind::share, 0, 0.9, 0.1, false},
    {"augment.translate", KeyKind::share, 0, 0.5, 0.05, false},
    {"augment.shear", KeyKind::share, 0, 15, 2, false},
    {"augment.cutmix", KeyKind::share, 0, 1, 0.1, false},
    {"augment.copy_paste", KeyKind::share, 0, 1, 0.1, false},
    {"augment.mosaic_off", KeyKind::share, 0, 1, 0.15, false},
};

const TunedKey& key_named(const std::string& name) {
  std::vector<std::string> names;
  for (const TunedKey& key : table) {
    if (key.name == name) return key;
    names.emplace_back(key.name);
  }
  const std::string nearest = nearest_word(name, names);
  throw InputError("'" + name + "' is no value that can be searched", "--keys",
                   nearest.empty() ? "brightnet tune --list-keys lists those that can."
                                   : "Did you mean '" + nearest + "'?");
}

/// The keys and values of the model's heads; where these differ, those of the first.
YAML::Node head_values(const Model& model) {
  YAML::Node values(YAML::NodeType::Map);
  for (const LayerDescription& layer : model.layers) {
    if (!is_head(layer)) continue;
    for (const auto& [key, text] : layer_texts(layer.attributes, Activation::linear))
      values[key] = YAML::Load(text);
    break;
  }
  return values;
}

}  // namespace

std::span<const TunedKey> tunable_keys() {
  return table;
}

std::vector<TunedKey> choose_keys(const std::vector<std::string>& names) {
  std::set<std::string_view> wanted;
  for (const std::string& name : names) {
    if (wanted.insert(key_named(name).name).second) continue;
    throw InputError("'" + name + "' is named twice", "--keys", "Name each value once.");
  }
  std::vector<TunedKey> keys;
  for (const TunedKey& key : table) {
    if (names.empty() ? key.usual : wanted.contains(key.name)) keys.push_back(key);
  }
  return keys;
}

std::vector<double> configured_values(const RunConfig& config, const Model& model,
                                      const std::vector<TunedKey>& keys) {
  YAML::Node all = YAML::Load(print_config(config, false));
  all["head"] = head_values(model);
  std::vector<double> values;
  for (const TunedKey& key : keys) {
    const std::string name(key.name);
    const size_t dot = name.find('.');
    const YAML::Node value = all[name.substr(0, dot)][name.substr(dot + 1)];
    const auto number = value.IsDefined() && value.IsScalar() ? parse_number(value.Scalar()) : std::nullopt;
    BRIGHTNET_CHECK(number, name + " has no value in a prepared run");
    values.push_back(*number);
  }
  return values;
}

void refuse_without_effect(const Model& model, const std::vector<TunedKey>& keys) {
  for (const TunedKey& key : keys) {
    if (key.name != "head.iou_threshold") continue;
    const std::string assignment = head_values(model)["assignment"].Scalar();
    if (assignment == enum_name(AssignmentKind::best_anchor)) continue;
    throw InputError(
        fmt::format("head.iou_threshold has no effect: it is for head.assignment: best_anchor, and this "
                    "run has {}",
                    assignment),
        "--keys", "Leave it out, or add --set head.assignment=best_anchor");
  }
}

std::string tuned_text(double value) {
  return fmt::format("{:.4g}", value);
}

double rounded(const TunedKey& key, double value) {
  if (key.kind == KeyKind::integer) value = std::round(value);
  return parse_number(tuned_text(value)).value();
}

}  // namespace brightnet
