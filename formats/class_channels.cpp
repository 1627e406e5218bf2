#include "formats/class_channels.h"

#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/json.h"
#include "core/printable.h"

namespace brightnet {
namespace {

/// Objectness and the box come before the classes of each anchor.
constexpr int values_before_classes = 5;

struct Predictor {
  const LayerDescription* layer = nullptr;
  int anchors = 0, classes = 0;
  int values() const { return values_before_classes + classes; }
};

std::vector<Predictor> predictors_of(const Model& model) {
  std::vector<Predictor> predictors;
  for (const LayerDescription& layer : model.layers) {
    const auto* yolo = std::get_if<YoloAttributes>(&layer.attributes);
    if (!yolo) continue;
    const int source = layer.inputs[0];
    predictors.push_back(
        {source == network_input ? nullptr : &model.layers[source], yolo->head.mask_count, model.classes});
  }
  return predictors;
}

bool makes_its_channels(const Predictor& predictor) {
  if (!predictor.layer) return false;
  const auto* conv = std::get_if<ConvAttributes>(&predictor.layer->attributes);
  return conv && conv->filters == predictor.anchors * predictor.values();
}

bool are_numbers(const std::vector<std::string>& classes) {
  for (size_t i = 0; i < classes.size(); ++i) {
    if (classes[i] != "class " + std::to_string(i)) return false;
  }
  return !classes.empty();
}

/// Names that are not UTF-8 as files of weights have them.
std::vector<std::string> written_names(std::vector<std::string> names) {
  for (std::string& name : names) name = written_text(name);
  return names;
}

std::vector<int> channels_of(const Predictor& theirs, const Predictor& ours, const ClassMatch& match) {
  std::vector<int> channels(static_cast<size_t>(ours.anchors) * ours.values(), -1);
  if (match.relation == ClassRelation::other) return channels;
  for (int anchor = 0; anchor < ours.anchors; ++anchor) {
    int* to = channels.data() + anchor * ours.values();
    const int from = anchor * theirs.values();
    for (int i = 0; i < values_before_classes; ++i) to[i] = from + i;
    for (size_t c = 0; c < match.source.size(); ++c) {
      if (match.source[c] >= 0)
        to[values_before_classes + c] = from + values_before_classes + match.source[c];
    }
  }
  return channels;
}

}  // namespace

std::string describe_other_case(const std::vector<std::string>& of_weights,
                                const std::vector<std::string>& of_data) {
  std::vector<std::string> pairs;
  std::string example;
  for (const std::string& ours : of_data) {
    for (const std::string& theirs : of_weights) {
      if (ours == theirs || edit_distance(ours, theirs) != 0) continue;
      pairs.push_back(fmt::format("'{}' is '{}' in the weights", ours, theirs));
      if (example.empty()) example = "--set " + shell_quoted(fmt::format("data.map.{}={}", ours, theirs));
    }
  }
  if (pairs.empty()) return "";
  return fmt::format("Upper and lower case count: {}; name them alike, by {}.", fmt::join(pairs, ", "),
                     example);
}

ClassMatch match_classes(const std::vector<std::string>& of_weights,
                         const std::vector<std::string>& of_data) {
  const std::vector<std::string> theirs = written_names(of_weights), ours = written_names(of_data);
  ClassMatch match;
  if (theirs == ours) {
    match.source.resize(ours.size());
    std::iota(match.source.begin(), match.source.end(), 0);
    return match;
  }
  size_t found = 0;
  for (const std::string& name : ours) {
    const auto at = std::find(theirs.begin(), theirs.end(), name);
    match.source.push_back(at == theirs.end() ? -1 : static_cast<int>(at - theirs.begin()));
    found += at != theirs.end();
  }
  const bool as_many = of_weights.size() == of_data.size();
  match.relation = as_many && found == of_data.size() ? ClassRelation::reordered
                   : found > 0                        ? ClassRelation::shared
                                                      : ClassRelation::other;
  if (as_many && found == 0 && are_numbers(of_weights)) {
    match.relation = ClassRelation::numbered;
    for (size_t i = 0; i < match.source.size(); ++i) match.source[i] = static_cast<int>(i);
  }
  return match;
}

std::vector<std::string> prediction_layers(const Model& model) {
  std::vector<std::string> names;
  for (const Predictor& predictor : predictors_of(model)) {
    if (predictor.layer) names.push_back(predictor.layer->name);
  }
  return names;
}

ChannelSources class_channels(const Model& theirs, const Model& model, const ParameterLayout& layout,
                              const ClassMatch& match, const std::string& file) {
  ChannelSources sources;
  if (match.relation == ClassRelation::same || match.relation == ClassRelation::numbered) return sources;
  std::map<std::string, Predictor> by_name;
  for (const Predictor& predictor : predictors_of(theirs)) {
    if (makes_its_channels(predictor)) by_name.emplace(predictor.layer->name, predictor);
  }
  for (const Predictor& ours : predictors_of(model)) {
    if (!makes_its_channels(ours)) {
      throw InputError("these weights are for other classes, or for these in another order, and a head of '" +
                           model.name + "' reads no convolution whose channels could be told apart",
                       file, "List the classes as in the weights, or train without them.");
    }
    const auto found = by_name.find(ours.layer->name);
    const bool alike = found != by_name.end() && found->second.anchors == ours.anchors;
    const std::vector<int> channels =
        alike ? channels_of(found->second, ours, match)
              : std::vector<int>(static_cast<size_t>(ours.anchors) * ours.values(), -1);
    for (const ParameterEntry& entry : layout.entries()) {
      if (&model.layers[entry.layer] == ours.layer) sources[entry.name] = channels;
    }
  }
  return sources;
}

}  // namespace brightnet
