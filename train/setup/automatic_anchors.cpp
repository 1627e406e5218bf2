#include "train/setup/automatic_anchors.h"

#include "core/log.h"
#include "train/setup/run_model.h"

namespace brightnet {

AnchorOptions anchor_options(const RunConfig& config, const Model& model) {
  AnchorOptions options;
  for (const auto& layer : model.layers) {
    if (const auto* yolo = std::get_if<YoloAttributes>(&layer.attributes))
      options.count = yolo->head.anchor_count;
  }
  options.size = config.train.size;
  options.letterbox = config.augment.letterbox;
  options.seed = config.train.seed;
  return options;
}

void resolve_anchors(RunConfig& config, const Dataset& train) {
  if (!config.head.defined()) return;
  const YAML::Node& head = config.head.node;
  const YAML::Node anchors = head["anchors"];
  if (!anchors.IsDefined() || !anchors.IsScalar() || anchors.Scalar() != "auto") return;
  const Model model = load_model(config, static_cast<int>(train.classes.size()));
  const AnchorResult found = find_anchors(train, anchor_options(config, model));
  config.head.node["anchors"] = YAML::Load(found.list());
  spdlog::info("Anchors for this data: {} ({}).", found.list(), found.fit());
}

}  // namespace brightnet
