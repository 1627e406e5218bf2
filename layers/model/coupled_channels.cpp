#include "layers/model/coupled_channels.h"

#include <algorithm>
#include <numeric>

#include "layers/model/reader.h"
#include "layers/model/writer.h"

namespace brightnet {
namespace {

/// Finds the sets layer by layer: a rule for each kind, which says what each output channel is made of. An output's
/// channels stay in their order, so that a layer reads what is left as it read the whole.
class Coupling {
 public:
  explicit Coupling(const Model& model) : model_(model), sets_(model.layers.size()) {
    for (int channel = 0; channel < model.channels; ++channel) kept_for_[fresh()] = "joined to the image";
    for (size_t i = 0; i < model.layers.size(); ++i) {
      layer_ = &model.layers[i];
      std::visit([&](const auto& kind) { sets_[i] = outputs(kind); }, layer_->attributes);
      BRIGHTNET_CHECK(std::ssize(sets_[i]) == layer_->channels, "a rule for other channels");
    }
  }

  CoupledChannels result() {
    CoupledChannels coupled{std::move(sets_), std::vector<std::string>(kept_for_.size())};
    for (auto& sets : coupled.sets) {
      for (int& set : sets) set = root(set);
    }
    for (size_t set = 0; set < kept_for_.size(); ++set) coupled.kept_for[set] = kept_for_[root(set)];
    return coupled;
  }

 private:
  using Sets = std::vector<int>;

  int fresh() {
    parents_.push_back(static_cast<int>(parents_.size()));
    kept_for_.emplace_back();
    return parents_.back();
  }
  int root(int set) {
    while (parents_[set] != set) {
      int& parent = parents_[set];
      set = parent = parents_[parent];
    }
    return set;
  }
  void join(int a, int b) {
    a = root(a);
    b = root(b);
    if (a == b) return;
    parents_[std::max(a, b)] = std::min(a, b);
    std::string& kept = kept_for_[std::min(a, b)];
    if (kept.empty()) kept = kept_for_[std::max(a, b)];
  }

  Sets input(size_t number = 0) const {
    const int from = layer_->inputs[number];
    if (from != network_input) return sets_[from];
    Sets image(static_cast<size_t>(model_.channels));
    std::iota(image.begin(), image.end(), 0);
    return image;
  }
  /// Joins the same channels of each of the equal groups: what is left of them are equal groups.
  void join_groups(const Sets& channels, int groups) {
    const size_t size = channels.size() / groups;
    for (size_t i = size; i < channels.size(); ++i) join(channels[i % size], channels[i]);
  }
  /// Joins the channels of all inputs, as far as they have them, and returns the first input's.
  Sets joined_inputs() {
    const Sets first = input();
    for (size_t i = 1; i < layer_->inputs.size(); ++i) {
      const Sets other = input(i);
      for (size_t c = 0; c < std::min(first.size(), other.size()); ++c) join(first[c], other[c]);
    }
    return first;
  }
  static Sets repeated(const Sets& channels, size_t times) {
    Sets all;
    for (size_t i = 0; i < times; ++i) all.insert(all.end(), channels.begin(), channels.end());
    return all;
  }

  Sets outputs(const ConvAttributes& conv) {
    const Sets in = input();
    Sets out(static_cast<size_t>(conv.filters));
    if (is_depthwise(model_, *layer_)) {
      // A group is one input channel, and goes with it.
      const size_t filters = out.size() / in.size();
      for (size_t i = 0; i < out.size(); ++i) out[i] = in[i / filters];
      return out;
    }
    for (int& set : out) set = fresh();
    join_groups(in, conv.groups);
    join_groups(out, conv.groups);
    return out;
  }
  Sets outputs(const MaxPoolAttributes&) { return input(); }
  Sets outputs(const AveragePoolAttributes&) { return input(); }
  Sets outputs(const GlobalPoolAttributes&) { return input(); }
  Sets outputs(const UpsampleAttributes&) { return input(); }
  Sets outputs(const SppAttributes& spp) { return repeated(input(), 1 + spp.windows.size()); }
  Sets outputs(const SpaceToDepthAttributes& space) {
    return repeated(input(), space.block * static_cast<size_t>(space.block));
  }
  Sets outputs(const ConcatAttributes&) {
    Sets all;
    for (size_t i = 0; i < layer_->inputs.size(); ++i) {
      const Sets one = input(i);
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  }
  // The parts are alike once they are joined, and so are the groups of a shuffle.
  Sets outputs(const SplitAttributes& split) {
    Sets in = input();
    join_groups(in, split.groups);
    in.resize(in.size() / split.groups);
    return in;
  }
  Sets outputs(const ChannelShuffleAttributes& shuffle) {
    const Sets in = input();
    join_groups(in, shuffle.groups);
    Sets out(in.size());
    for (size_t i = 0; i < out.size(); ++i) out[i] = in[i / shuffle.groups];
    return out;
  }
  // A partial one adds the first channels of the longer input: those that have a partner come before those without, and do
  // so in what is left.
  Sets outputs(const ShortcutAttributes&) { return joined_inputs(); }
  Sets outputs(const WeightedSumAttributes&) { return joined_inputs(); }
  Sets outputs(const MultiplyAttributes&) { return joined_inputs(); }
  Sets outputs(const ScaleChannelsAttributes&) { return joined_inputs(); }
  Sets outputs(const YoloAttributes&) {
    for (const int set : input()) {
      std::string& kept = kept_for_[root(set)];
      if (kept.empty()) kept = "read by " + layer_->name;
    }
    return input();
  }

  const Model& model_;
  const LayerDescription* layer_ = nullptr;
  std::vector<int> parents_;
  std::vector<std::string> kept_for_;  ///< for each root, why its set must stay; else empty
  std::vector<Sets> sets_;
};

}  // namespace

CoupledChannels couple_channels(const Model& model) {
  return Coupling(model).result();
}

bool is_depthwise(const Model& model, const LayerDescription& layer) {
  const auto* conv = std::get_if<ConvAttributes>(&layer.attributes);
  return conv && conv->groups > 1 && conv->groups == model.channels_of(layer.inputs[0]);
}

Model without_channels(const Model& model, const CoupledChannels& coupled, const std::vector<bool>& removed) {
  Model smaller = model;
  for (size_t i = 0; i < model.layers.size(); ++i) {
    LayerDescription& layer = smaller.layers[i];
    layer.channels = static_cast<int>(std::count_if(coupled.sets[i].begin(), coupled.sets[i].end(),
                                                    [&](int set) { return !removed[set]; }));
    auto* conv = std::get_if<ConvAttributes>(&layer.attributes);
    if (!conv) continue;
    if (is_depthwise(model, model.layers[i])) conv->groups = conv->groups * layer.channels / conv->filters;
    conv->filters = layer.channels;
  }
  // Read again: whatever follows from the channels is derived, and checked, as for any other model.
  Model read = parse_model(YamlDocument::parse(write_model_yaml(smaller), model.name), model.classes);
  BRIGHTNET_CHECK(
      std::equal(read.layers.begin(), read.layers.end(), smaller.layers.begin(), smaller.layers.end(),
                 [](const auto& a, const auto& b) { return a.channels == b.channels; }),
      "what is left fits together otherwise than the rules say");
  return read;
}

}  // namespace brightnet
