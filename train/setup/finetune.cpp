#include "train/setup/finetune.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include <fmt/ranges.h>

#include "core/log.h"
#include "core/text.h"
#include "formats/class_channels.h"
#include "formats/darknet/import.h"
#include "formats/darknet/weights.h"
#include "formats/foreign_weights.h"
#include "formats/input_channels.h"
#include "formats/safetensors.h"
#include "train/setup/trained_anchors.h"

namespace brightnet {
namespace {

bool is_conv(const LayerDescription& layer) {
  return std::holds_alternative<ConvAttributes>(layer.attributes);
}

/// "stage2" is the layer of that name, or every layer of that block.
bool belongs_to(const LayerDescription& layer, const std::string& part) {
  return layer.name == part || layer.name.rfind(part + '.', 0) == 0;
}

void freeze_first(unsigned count, std::vector<bool>& frozen) {
  const size_t layers = frozen.size();
  if (count > layers) {
    throw InputError("'freeze' asks for the first " + std::to_string(count) + " layers, and the model has " +
                         std::to_string(layers),
                     "train.freeze", "`brightnet memory` lists them.");
  }
  std::fill_n(frozen.begin(), count, true);
}

/// The layers that `part` names. Throws InputError, which names train.`key`, where there are none.
std::vector<size_t> layers_of(const Model& model, const std::string& part, const std::string& key) {
  std::vector<size_t> found;
  std::vector<std::string> names;
  for (size_t i = 0; i < model.layers.size(); ++i) {
    const std::string& name = model.layers[i].name;
    names.push_back(name.substr(0, name.find('.')));
    if (belongs_to(model.layers[i], part)) found.push_back(i);
  }
  if (!found.empty()) return found;
  const std::string nearest = nearest_word(part, names);
  throw InputError(
      "'" + key + "' names '" + part + "', and the model has no such layer or block", "train." + key,
      nearest.empty() ? "`brightnet memory` lists the layers." : "Did you mean '" + nearest + "'?");
}

/// "a, b, c", or the first of many: "person, bicycle, car, … (80 classes)".
std::string listed(const std::vector<std::string>& classes) {
  constexpr size_t most = 12, first = 8;
  if (classes.size() <= most) return fmt::format("{}", fmt::join(classes, ", "));
  return fmt::format("{}, … ({} classes)", fmt::join(classes.begin(), classes.begin() + first, ", "),
                     classes.size());
}

/// The names among `classes` that `others` has (`wanted`), or lacks.
std::vector<std::string> which(const std::vector<std::string>& classes,
                               const std::vector<std::string>& others, bool wanted) {
  const std::set<std::string> known(others.begin(), others.end());
  std::vector<std::string> found;
  for (const std::string& name : classes) {
    if (known.contains(name) == wanted) found.push_back(name);
  }
  return found;
}

/// What becomes of prediction layers that were trained for these classes.
std::string describe_classes(const std::vector<std::string>& theirs, const std::vector<std::string>& ours,
                             const Model& model, ClassRelation relation) {
  const std::string layers = fmt::format("{}", fmt::join(prediction_layers(model), ", "));
  switch (relation) {
    case ClassRelation::same: break;
    case ClassRelation::numbered:
      return fmt::format(
          "The weights number their classes and do not name them: they are taken to be, in this "
          "order, {}.",
          listed(ours));
    case ClassRelation::reordered:
      return fmt::format(
          "They were trained for the classes {}, which this data set lists as {}: the channels of "
          "the prediction layers ({}) are put into this order.",
          listed(theirs), listed(ours), layers);
    case ClassRelation::shared: {
      std::string text = fmt::format(
          "They were trained for the classes {}, and this data set has {}: the prediction layers ({}) keep "
          "boxes, objectness and the classes that both have ({})",
          listed(theirs), listed(ours), layers, listed(which(ours, theirs, true)));
      if (const auto more = which(ours, theirs, false); !more.empty())
        text += fmt::format("; {} {} fresh", listed(more), more.size() == 1 ? "starts" : "start");
      if (const auto gone = which(theirs, ours, false); !gone.empty())
        text += fmt::format("; {} {} left out", listed(gone), gone.size() == 1 ? "is" : "are");
      return text + '.';
    }
    case ClassRelation::other:
      return fmt::format(
          "They were trained for the classes {}, and this data set has {}, none of which is among "
          "them: the prediction layers ({}) start fresh. If these are the same classes under "
          "other names, list them under the names that the weights have.",
          listed(theirs), listed(ours), layers);
  }
  return "";
}

/// Loads a file of a network for RGB images into one for grey images.
DarknetWeightsReport load_summed(const std::string& file, const Model& model, const ParameterLayout& layout,
                                 std::vector<float>& values, const DarknetWeightsOptions& options) {
  Model rgb = model;
  rgb.channels = 3;
  const ParameterLayout rgb_layout(rgb);
  std::vector<float> rgb_values(rgb_layout.floats());
  DarknetWeightsReport report = load_darknet_weights(file, rgb, rgb_layout, rgb_values, options);
  const std::set<std::string> of_input = weights_of_input(model);
  for (const std::string& name : report.match.taken) {
    const ParameterEntry &from = *rgb_layout.find(name), &to = *layout.find(name);
    const std::span<const float> read(rgb_values.data() + from.offset, from.count);
    if (of_input.contains(name)) {
      sum_channels(read, 3, values.data() + to.offset);
      report.match.summed.push_back(name);
    } else {
      std::copy(read.begin(), read.end(), values.begin() + to.offset);
    }
  }
  return report;
}

/// darknet's files say neither names nor shapes: that a file is of RGB images, its .cfg says, or else its length.
DarknetWeightsReport load_darknet(const std::string& file, const Model& model, const ParameterLayout& layout,
                                  std::vector<float>& values, const DarknetWeightsOptions& options) {
  if (model.channels == 3) return load_darknet_weights(file, model, layout, values, options);
  if (options.network && options.network->channels == 3)
    return load_summed(file, model, layout, values, options);
  if (!options.network && options.partial) return load_summed(file, model, layout, values, options);
  std::vector<float> grey = values;
  try {
    const DarknetWeightsReport report = load_darknet_weights(file, model, layout, grey, options);
    values = std::move(grey);
    return report;
  } catch (const InputError&) {
    if (options.network) throw;
    try {
      return load_summed(file, model, layout, values, options);
    } catch (const InputError&) {  // neither: what the file lacks for this model is told
    }
    throw;
  }
}

/// The prediction layers of darknet's weights for other classes. `network` is the weights' own, or the model.
std::vector<PretrainedPrediction> predictions_of(const DarknetWeightsReport& report, const Model& network,
                                                 const TrainedAnchors& trained) {
  std::vector<PretrainedPrediction> predictions;
  const auto heads = prediction_heads(network);
  if (heads.size() != report.predictions.size() || heads.size() != trained.heads.size()) return predictions;
  for (size_t i = 0; i < heads.size(); ++i) {
    const DarknetPrediction& read = report.predictions[i];
    predictions.push_back({.layer = read.layer,
                           .classes = report.classes,
                           .anchors = trained.heads[i],
                           .scale_xy = heads[i].head->scale_xy,
                           .weight = read.weight,
                           .bias = read.bias});
  }
  return predictions;
}

void require_finite(const std::vector<float>& values, const std::string& layer, const std::string& file) {
  if (std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); })) return;
  throw InputError("'" + layer + "' holds values that are not finite (NaN or infinite)", file,
                   "The training that wrote it diverged, or the file was damaged: use other weights.");
}

/// The prediction layers of a safetensors file.
std::vector<PretrainedPrediction> predictions_of(const std::string& file, const TrainedModel& theirs) {
  std::vector<PretrainedPrediction> predictions;
  SafetensorsReader reader(file);
  const auto heads = prediction_heads(theirs.model);
  const TrainedAnchors trained = anchors_of(theirs.model);
  for (size_t i = 0; i < heads.size(); ++i) {
    const std::string& layer = heads[i].layer;
    if (!reader.tensors().contains(layer + ".weight") || !reader.tensors().contains(layer + ".bias"))
      continue;
    predictions.push_back({.layer = layer,
                           .classes = theirs.model.classes,
                           .anchors = trained.heads[i],
                           .scale_xy = heads[i].head->scale_xy,
                           .weight = reader.read(layer + ".weight"),
                           .bias = reader.read(layer + ".bias")});
    require_finite(predictions.back().weight, layer, file);
    require_finite(predictions.back().bias, layer, file);
  }
  return predictions;
}

struct PretrainedWeights {
  MatchReport match;
  std::vector<PretrainedPrediction> of_other_classes;
};

PretrainedWeights read_darknet(const TrainOptions& train, const Model& model,
                               const std::vector<std::string>& classes, const ParameterLayout& layout,
                               std::vector<float>& values) {
  DarknetWeightsOptions options;
  options.partial = train.weights_partial;
  options.may_be_partial = true;
  Model network;
  if (!train.weights_cfg.empty()) {
    network = import_darknet(train.weights_cfg).model;
    options.network = &network;
  }
  const DarknetWeightsReport report = load_darknet(train.weights, model, layout, values, options);
  log::info("Weights of {}: {}, of version {}.{}.{} after {} images.", train.weights, report.summary(),
            report.header.major, report.header.minor, report.header.revision, report.header.seen);
  if (!report.whole()) return {report.match, {}};
  if (report.classes != model.classes) {
    log::info(
        "  They were trained for {} classes; this model has {}: the prediction layers ({}) start fresh.",
        report.classes, model.classes, fmt::join(prediction_layers(model), ", "));
    TrainedAnchors trained = options.network ? anchors_of(network) : anchors_of_published(train.weights);
    if (trained.heads.empty()) trained = anchors_of(model);
    return {report.match, predictions_of(report, options.network ? network : model, trained)};
  }
  log::info(
      "  darknet's files do not name the classes: they are taken to be, in this order, {}. If they are "
      "others, list them as in the weights' .names.",
      listed(classes));
  const TrainedAnchors trained = options.network ? anchors_of(network) : anchors_of_published(train.weights);
  log::info("  {}", fit_to_anchors(trained, model, layout, values));
  return {report.match, {}};
}

PretrainedWeights read_safetensors(const TrainOptions& train, const Model& model,
                                   const std::vector<std::string>& classes, const ParameterLayout& layout,
                                   std::vector<float>& values) {
  if (train.weights_partial || !train.weights_cfg.empty()) {
    throw InputError(
        "--weights-partial and --weights-cfg are for darknet's .weights, which have no names or shapes",
        train.weights, "Leave them out: what fits of a safetensors file is taken by name and shape.");
  }
  const auto theirs = describe_weights(train.weights);
  if (theirs && !theirs->model.quantization.empty() && model.quantization.empty()) {
    throw InputError("these weights are quantised: their batch-norm is a part of their convolutions",
                     train.weights, "Begin with those that they were made from.");
  }
  const ClassMatch match = theirs ? match_classes(theirs->classes, classes) : ClassMatch();
  const ChannelSources sources =
      theirs ? class_channels(theirs->model, model, layout, match, train.weights) : ChannelSources();
  MatchReport report =
      load_matching_weights(train.weights, layout, values, sources,
                            model.channels == 1 ? weights_of_input(model) : std::set<std::string>());
  log::info("Weights of {}: {} of {} tensors loaded.", train.weights, report.taken.size(),
            layout.entries().size());
  if (!theirs) return {report, {}};
  const std::string told = describe_classes(theirs->classes, classes, model, match.relation);
  if (!told.empty()) log::info("  {}", told);
  if (const std::string other_case = describe_other_case(theirs->classes, classes); !other_case.empty())
    log::warn("{}", other_case);
  if (match.relation != ClassRelation::other) return {report, {}};
  return {report, predictions_of(train.weights, *theirs)};
}

}  // namespace

std::vector<bool> frozen_layers(const Model& model, const TrainOptions& train) {
  std::vector<bool> frozen(model.layers.size());
  for (const std::string& part : train.freeze.value_or({})) {
    if (const auto count = parse_integer<unsigned>(part)) {
      freeze_first(*count, frozen);
    } else {
      for (const size_t layer : layers_of(model, part, "freeze")) frozen[layer] = true;
    }
  }
  for (size_t i = 0; i < frozen.size(); ++i) {
    if (is_conv(model.layers[i]) && !frozen[i]) return frozen;
  }
  throw InputError("'freeze' leaves nothing to train", "train.freeze", "Freeze less of the model.");
}

void name_fresh_layers(TrainOptions& train, const Model& model) {
  std::vector<std::string> names;
  const auto add = [&names](const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const std::string& part : train.fresh) {
    // A layer is no more than itself, though a block has its name: the run lists layers, and a list that is read again
    // must not grow.
    const bool is_layer = std::any_of(model.layers.begin(), model.layers.end(),
                                      [&part](const auto& layer) { return layer.name == part; });
    if (is_layer) {
      add(part);
    } else {
      for (const size_t layer : layers_of(model, part, "fresh")) add(model.layers[layer].name);
    }
  }
  train.fresh = std::move(names);
}

void set_rates(Model& model, const TrainOptions& train) {
  const std::set<std::string> fresh(train.fresh.begin(), train.fresh.end());
  const std::vector<bool> frozen = frozen_layers(model, train);
  for (size_t i = 0; i < frozen.size(); ++i) {
    LayerDescription& layer = model.layers[i];
    layer.pretrained = !fresh.contains(layer.name);
    layer.rate = frozen[i] ? 0 : layer.pretrained ? train.pretrained_rate : 1;
  }
}

std::vector<PretrainedPrediction> read_pretrained(TrainOptions& train, const Model& model,
                                                  const std::vector<std::string>& classes,
                                                  const ParameterLayout& layout, std::vector<float>& values) {
  refuse_foreign_weights(train.weights);
  const auto read = is_darknet_weights(train.weights) ? read_darknet : read_safetensors;
  const auto [report, of_other_classes] = read(train, model, classes, layout, values);
  for (const auto& name : report.summed)
    log::info("  {}: the weights for red, green and blue are summed into those of the grey channel", name);
  for (const auto& name : report.left) log::info("  newly initialised: {}", name);
  for (const auto& name : report.ignored) log::info("  not used: {}", name);

  const std::set<std::string> taken(report.taken.begin(), report.taken.end());
  const std::vector<bool> frozen = frozen_layers(model, train);
  std::set<std::string> fresh(train.fresh.begin(), train.fresh.end());
  for (const ParameterEntry& entry : layout.entries()) {
    if (taken.contains(entry.name)) continue;
    const LayerDescription& layer = model.layers[entry.layer];
    if (frozen[entry.layer] && fresh.insert(layer.name).second)
      log::warn("'{}' is frozen and not in {}: it keeps its random initialisation.", layer.name,
                train.weights);
    fresh.insert(layer.name);
  }
  train.fresh.assign(fresh.begin(), fresh.end());
  return of_other_classes;
}

std::string describe_other_heads(const TrainOptions& train, const Model& model) {
  if (train.weights.empty() || is_darknet_weights(train.weights)) return "";
  const auto theirs = describe_weights(train.weights);
  if (!theirs) return "";
  const std::set<std::string> fresh(train.fresh.begin(), train.fresh.end());
  std::string lines;
  for (const auto& [layer, head] : prediction_heads(model)) {
    for (const auto& [other_layer, other] : prediction_heads(theirs->model)) {
      if (other_layer != layer || fresh.contains(layer)) continue;
      const auto compare = [&, &name = layer](const char* key, const std::string& trained,
                                              const std::string& now) {
        if (trained != now)
          lines += fmt::format("\n  {}: {} {} in the weights, {} here", name, key, trained, now);
      };
      compare("anchors", anchors_text(own_anchors(*other)), anchors_text(own_anchors(*head)));
      compare("scale_xy", fmt::format("{:g}", other->scale_xy), fmt::format("{:g}", head->scale_xy));
      compare("new_coords", fmt::format("{}", other->new_coords), fmt::format("{}", head->new_coords));
    }
  }
  if (lines.empty()) return "";
  return "The pretrained prediction layers were trained with other heads, so their first boxes are wrong by "
         "as much:" +
         lines + "\nWithout head.anchors and the other keys of `head:`, those of the weights are taken.";
}

int frozen_convolutions(const Model& model) {
  return static_cast<int>(std::count_if(model.layers.begin(), model.layers.end(),
                                        [](const auto& layer) { return is_conv(layer) && layer.rate == 0; }));
}

}  // namespace brightnet
