#include "layers/pruning.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>

namespace brightnet {
namespace {

std::string parameter_of(FilterImportance by) {
  switch (by) {
    case FilterImportance::norm:
    case FilterImportance::taylor: return "weight";
    case FilterImportance::scale: return "scale";
  }
  return "";
}

double importance_of(std::span<const float> filter, FilterImportance by) {
  double sum = 0;
  switch (by) {
    case FilterImportance::norm:
      for (const float w : filter) sum += static_cast<double>(w) * w;
      return std::sqrt(sum);
    case FilterImportance::scale:
    case FilterImportance::taylor:
      for (const float w : filter) sum += std::abs(w);
      return sum;
  }
  return sum;
}

/// An eighth of the sets of a group, and of the channels of a layer with them, is left.
constexpr int largest_reduction = 8;

/// Sets of channels that occur equally often in the same layers: one of them costs as much as another.
struct Group {
  std::vector<int> sets = {};                      ///< the least important first
  std::vector<double> importances = {};            ///< sums over the first 0, 1, 2, … of `sets`
  std::vector<std::pair<int, int>> channels = {};  ///< layers, and how many channels of its output a set has
  std::vector<int> convolutions = {};              ///< convolutions that make these channels or read them
  int step = 1;                                    ///< the number of sets that are left is a multiple of it
  int least = 1;                                   ///< sets that are left at least
  int left = 0;                                    ///< sets that are not removed yet

  /// How many would be left after the next removal; 0: there is none.
  int next() const {
    const int fewer = (left - 1) / step * step;
    return fewer < least ? 0 : fewer;
  }
  /// The importance of all but the `count` most important sets.
  double importance_without(int count) const { return importances[sets.size() - count]; }
};

/// The greedy choice of what is removed.
class GreedyPruning {
 public:
  GreedyPruning(const Model& model, const CoupledChannels& coupled,
                const std::vector<std::vector<double>>& importances, const PruningTarget& target)
      : model_(model), flop_(forward_flops(model, target.size)) {
    for (const LayerDescription& layer : model.layers) {
      channels_.push_back(layer.channels);
      shares_input_.push_back(!is_depthwise(model, layer));
    }
    find_groups(coupled, importances, target.multiple);
    removed_.resize(coupled.kept_for.size());
  }

  std::vector<bool> run(double keep) {
    const double all = std::accumulate(flop_.begin(), flop_.end(), 0.0);
    const double lowest = keep * all * (1 - pruning_tolerance);
    for (double left = all; left > keep * all;) {
      Group* chosen = nullptr;
      double least = 0, saved_by_chosen = 0;
      for (Group& group : groups_) {
        const double saved = group.next() > 0 ? saved_by(group) : 0;
        if (saved <= 0 || left - saved < lowest) continue;
        const double cost = cost_of(group) / saved;
        if (chosen && cost >= least) continue;
        chosen = &group;
        least = cost;
        saved_by_chosen = saved;
      }
      if (!chosen) break;
      remove_from(*chosen);
      left -= saved_by_chosen;
    }
    return removed_;
  }

 private:
  /// The layers with channels of a set, and how many of their output's channels are the set's.
  using Footprint = std::map<int, int>;

  void find_groups(const CoupledChannels& coupled, const std::vector<std::vector<double>>& importances,
                   int multiple) {
    std::vector<Footprint> footprints(coupled.kept_for.size());
    std::vector<std::optional<double>> sums(coupled.kept_for.size());
    for (size_t layer = 0; layer < coupled.sets.size(); ++layer) {
      for (size_t channel = 0; channel < coupled.sets[layer].size(); ++channel) {
        const size_t set = coupled.sets[layer][channel];
        ++footprints[set][static_cast<int>(layer)];
        if (!importances[layer].empty()) sums[set] = sums[set].value_or(0) + importances[layer][channel];
      }
    }
    std::map<Footprint, std::vector<int>> alike;
    for (size_t set = 0; set < footprints.size(); ++set) {
      if (coupled.kept_for[set].empty() && sums[set]) alike[footprints[set]].push_back(static_cast<int>(set));
    }
    for (auto& [footprint, sets] : alike) {
      Group group{.sets = std::move(sets), .channels = {footprint.begin(), footprint.end()}};
      std::stable_sort(group.sets.begin(), group.sets.end(),
                       [&](int a, int b) { return *sums[a] < *sums[b]; });
      group.importances.push_back(0);
      for (const int set : group.sets) group.importances.push_back(group.importances.back() + *sums[set]);
      for (int i = 0; i < static_cast<int>(flop_.size()); ++i) {
        const bool concerned = footprint.contains(i) || footprint.contains(model_.layers[i].inputs[0]);
        if (flop_[i] > 0 && concerned) group.convolutions.push_back(i);
      }
      set_limits(group, multiple);
      groups_.push_back(std::move(group));
    }
  }

  void set_limits(Group& group, int multiple) const {
    group.left = static_cast<int>(group.sets.size());
    int fewest = group.left;  // channels of a set in a layer
    for (const auto& [layer, channels] : group.channels) {
      group.step = std::lcm(group.step, multiple / std::gcd(multiple, channels));
      fewest = std::min(fewest, channels);
    }
    const auto parts = [](int whole, int part) { return (whole + part - 1) / part; };
    const int least = std::max(parts(group.left, largest_reduction), parts(fewest_channels, fewest));
    group.least = parts(least, group.step) * group.step;
  }

  std::vector<int> channels_without(const Group& group) const {
    std::vector<int> channels = channels_;
    for (const auto& [layer, of_set] : group.channels)
      channels[layer] -= (group.left - group.next()) * of_set;
    return channels;
  }
  /// A convolution's FLOP, in proportion to its output channels and to those that each filter reads.
  double flop(int layer, const std::vector<int>& channels) const {
    const double filters = static_cast<double>(channels[layer]) / model_.layers[layer].channels;
    const int input = model_.layers[layer].inputs[0];
    if (input == network_input || !shares_input_[layer]) return flop_[layer] * filters;
    return flop_[layer] * filters * channels[input] / model_.layers[input].channels;
  }
  double saved_by(const Group& group) const {
    const std::vector<int> fewer = channels_without(group);
    double saved = 0;
    for (const int layer : group.convolutions) saved += flop(layer, channels_) - flop(layer, fewer);
    return saved;
  }
  /// The next sets' importance, as a share of that of all that are left, times that of the group at first: a layer whose
  /// unimportant channels are gone is spared (as Lee et al. 2021, "Layer-Adaptive Sparsity for the Magnitude-Based
  /// Pruning", do for single weights).
  static double cost_of(const Group& group) {
    const double all = group.importances.back(), gone = group.importance_without(group.left);
    return all > gone ? all * (group.importance_without(group.next()) - gone) / (all - gone) : 0;
  }
  void remove_from(Group& group) {
    channels_ = channels_without(group);
    const int next = group.next();
    for (; group.left > next; --group.left) removed_[*(group.sets.end() - group.left)] = true;
  }

  const Model& model_;
  std::vector<double> flop_;  ///< FLOP of each layer of the whole network
  /// For each layer whether a filter reads all channels of the input, or of a group of it, and not one alone.
  std::vector<bool> shares_input_;
  std::vector<int> channels_;  ///< for each layer the channels that are left of its output
  std::vector<Group> groups_;
  std::vector<bool> removed_;
};

/// Whether each channel stays, of a layer's output or of its first input.
using Kept = std::vector<bool>;

// Which elements of a layer's parameter stay, for each kind that has parameters.

std::vector<size_t> kept_elements(const ConvAttributes& conv, const ParameterEntry& entry, const Kept& inputs,
                                  const Kept& outputs) {
  const bool is_weight = entry.kind == ParameterKind::weight;
  const size_t read = is_weight ? static_cast<size_t>(entry.shape.back()) : 1;  // inputs that a filter reads
  const size_t filter = entry.count / outputs.size(), group = outputs.size() / conv.groups;
  std::vector<size_t> elements;
  for (size_t i = 0; i < entry.count; ++i) {
    const size_t output = i / filter, input = output / group * read + i % read;
    if (outputs[output] && (!is_weight || inputs[input])) elements.push_back(i);
  }
  return elements;
}

std::vector<size_t> kept_elements(const WeightedSumAttributes& sum, const ParameterEntry& entry, const Kept&,
                                  const Kept& outputs) {
  std::vector<size_t> elements;
  for (size_t i = 0; i < entry.count; ++i) {
    if (is_shared(sum.weights) || outputs[i % outputs.size()]) elements.push_back(i);
  }
  return elements;
}

}  // namespace

std::vector<std::vector<double>> filter_importances(const Model& model, const ParameterLayout& layout,
                                                    std::span<const float> values, FilterImportance by) {
  std::vector<std::vector<double>> importances(model.layers.size());
  for (size_t i = 0; i < model.layers.size(); ++i) {
    const auto* conv = std::get_if<ConvAttributes>(&model.layers[i].attributes);
    const ParameterEntry* entry = conv ? layout.find(model.layers[i].name + '.' + parameter_of(by)) : nullptr;
    if (!entry) continue;
    const size_t filters = conv->filters, filter = entry->count / filters;
    double sum = 0;
    for (size_t f = 0; f < filters; ++f) {
      importances[i].push_back(importance_of(values.subspan(entry->offset + f * filter, filter), by));
      sum += importances[i].back();
    }
    for (double& importance : importances[i]) importance = sum > 0 ? importance / sum : 0;
  }
  return importances;
}

std::vector<bool> choose_removed(const Model& model, const CoupledChannels& coupled,
                                 const std::vector<std::vector<double>>& importances,
                                 const PruningTarget& target) {
  return GreedyPruning(model, coupled, importances, target).run(target.keep);
}

std::vector<float> values_without_channels(const Model& model, const ParameterLayout& layout,
                                           std::span<const float> values, const CoupledChannels& coupled,
                                           const std::vector<bool>& removed, const ParameterLayout& pruned) {
  const auto kept_of = [&](int input) {
    Kept kept(model.channels_of(input));
    for (size_t c = 0; c < kept.size(); ++c) kept[c] = !removed[coupled.set_of(input, static_cast<int>(c))];
    return kept;
  };
  std::vector<float> left(pruned.floats());
  for (const ParameterEntry& to : pruned.entries()) {
    const ParameterEntry& from = *layout.find(to.name);
    const LayerDescription& layer = model.layers[to.layer];
    const Kept inputs = kept_of(layer.inputs[0]), outputs = kept_of(to.layer);
    const std::vector<size_t> elements = std::visit(
        [&]<LayerKind Kind>(const Kind& kind) -> std::vector<size_t> {
          if constexpr (requires { &Kind::parameters; }) {
            return kept_elements(kind, from, inputs, outputs);
          } else {
            return {};
          }
        },
        layer.attributes);
    BRIGHTNET_CHECK(elements.size() == to.count, "other values than the model has");
    std::transform(elements.begin(), elements.end(), left.begin() + static_cast<ptrdiff_t>(to.offset),
                   [&](size_t element) { return values[from.offset + element]; });
  }
  return left;
}

}  // namespace brightnet
