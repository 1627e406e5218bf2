#include "train/setup/finetune.h"

#include <algorithm>
#include <set>

#include "core/log.h"
#include "train/formats/darknet/import.h"
#include "train/formats/darknet/weights.h"

namespace brightnet {
namespace {

bool is_conv(const LayerDescription& layer) {
  return std::holds_alternative<ConvAttributes>(layer.attributes);
}

bool is_number(const std::string& text) {
  return !text.empty() && text.size() < 7 && text.find_first_not_of("0123456789") == std::string::npos;
}

/// "stage2" is the layer of that name, or every layer of that block.
bool belongs_to(const LayerDescription& layer, const std::string& part) {
  return layer.name == part || layer.name.rfind(part + '.', 0) == 0;
}

void freeze_first(Model& model, int count) {
  const int layers = static_cast<int>(model.layers.size());
  if (count > layers) {
    throw InputError("'freeze' asks for the first " + std::to_string(count) + " layers, and the model has " +
                         std::to_string(layers),
                     "train.freeze", "`brightnet memory` lists them.");
  }
  for (int i = 0; i < count; ++i) model.layers[static_cast<size_t>(i)].rate = 0;
}

void freeze_part(Model& model, const std::string& part) {
  bool found = false;
  std::vector<std::string> names;
  for (LayerDescription& layer : model.layers) {
    names.push_back(layer.name.substr(0, layer.name.find('.')));
    if (!belongs_to(layer, part)) continue;
    layer.rate = 0;
    found = true;
  }
  if (found) return;
  const std::string nearest = nearest_word(part, names);
  throw InputError(
      "'freeze' names '" + part + "', and the model has no such layer or block", "train.freeze",
      nearest.empty() ? "`brightnet memory` lists the layers." : "Did you mean '" + nearest + "'?");
}

MatchReport read_darknet(const TrainOptions& train, const Model& model, const ParameterLayout& layout,
                         std::vector<float>& values) {
  DarknetWeightsOptions options;
  options.partial = train.weights_partial;
  Model network;
  if (!train.weights_cfg.empty()) {
    network = import_darknet(train.weights_cfg).model;
    options.network = &network;
  }
  const DarknetWeightsReport report = load_darknet_weights(train.weights, model, layout, values, options);
  spdlog::info("Weights of {}: {}, of version {}.{}.{} after {} images.", train.weights, report.summary(),
               report.header.major, report.header.minor, report.header.revision, report.header.seen);
  if (report.classes != model.classes && report.whole())
    spdlog::info("  They were trained for {} classes; this model has {}.", report.classes, model.classes);
  return report.match;
}

MatchReport read_safetensors(const TrainOptions& train, const Model&, const ParameterLayout& layout,
                             std::vector<float>& values) {
  if (train.weights_partial || !train.weights_cfg.empty()) {
    throw InputError(
        "--weights-partial and --weights-cfg are for darknet's .weights, which have no names or shapes",
        train.weights, "Leave them out: what fits of a safetensors file is taken by name and shape.");
  }
  MatchReport report = load_matching_weights(train.weights, layout, values);
  spdlog::info("Weights of {}: {} of {} parameters taken.", train.weights, report.taken.size(),
               layout.entries().size());
  return report;
}

}  // namespace

void set_rates(Model& model, const TrainOptions& train) {
  const std::set<std::string> fresh(train.fresh.begin(), train.fresh.end());
  for (LayerDescription& layer : model.layers)
    layer.rate = fresh.contains(layer.name) ? 1 : train.pretrained_rate;
  for (const std::string& part : train.freeze) {
    if (is_number(part)) {
      freeze_first(model, std::stoi(part));
    } else {
      freeze_part(model, part);
    }
  }
  if (std::none_of(model.layers.begin(), model.layers.end(),
                   [](const auto& layer) { return is_conv(layer) && layer.rate > 0; })) {
    throw InputError("'freeze' leaves nothing to train", "train.freeze", "Freeze less of the model.");
  }
}

void read_pretrained(TrainOptions& train, const Model& model, const ParameterLayout& layout,
                     std::vector<float>& values) {
  const auto read = is_darknet_weights(train.weights) ? read_darknet : read_safetensors;
  const MatchReport report = read(train, model, layout, values);
  for (const auto& name : report.left) spdlog::info("  newly initialised: {}", name);
  for (const auto& name : report.ignored) spdlog::info("  not used: {}", name);

  const std::set<std::string> taken(report.taken.begin(), report.taken.end());
  std::set<std::string> fresh(train.fresh.begin(), train.fresh.end());
  for (const ParameterEntry& entry : layout.entries()) {
    if (taken.contains(entry.name)) continue;
    const LayerDescription& layer = model.layers[static_cast<size_t>(entry.layer)];
    if (layer.rate == 0 && fresh.insert(layer.name).second)
      spdlog::warn("'{}' is frozen and not in {}: it keeps its random initialisation.", layer.name,
                   train.weights);
    fresh.insert(layer.name);
  }
  train.fresh.assign(fresh.begin(), fresh.end());
}

int frozen_convolutions(const Model& model) {
  return static_cast<int>(std::count_if(model.layers.begin(), model.layers.end(),
                                        [](const auto& layer) { return is_conv(layer) && layer.rate == 0; }));
}

}  // namespace brightnet
