// Structured pruning: which channels of a network are removed, and the values of the network that is left.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "layers/model/coupled_channels.h"
#include "layers/parameters.h"

namespace brightnet {

/// The measure of how much a filter matters.
enum class FilterImportance : uint8_t {
  norm,   ///< L2 norm of its weights (Li et al. 2017, "Pruning Filters for Efficient ConvNets")
  scale,  ///< |scale| of its batch-norm (Liu et al. 2017, "Learning Efficient Convolutional Networks through Network Slimming")
  taylor  ///< Σ |w · ∂L/∂w| of its weights (Molchanov et al. 2019, "Importance Estimation for Neural Network Pruning")
};
constexpr std::string_view enum_name(FilterImportance importance) {
  switch (importance) {
    case FilterImportance::norm: return "norm";
    case FilterImportance::scale: return "scale";
    case FilterImportance::taylor: return "taylor";
  }
  return {};
}

/// Whether an importance is measured in backward passes.
constexpr bool needs_gradients(FilterImportance importance) {
  switch (importance) {
    case FilterImportance::norm:
    case FilterImportance::scale: return false;
    case FilterImportance::taylor: return true;
  }
  return true;
}

/// Returns the importance of each layer's filters, as shares of the layer's sum; empty for a layer that has
/// none, or nothing that this could be told from. `values` are those of `layout`; for `taylor`, Σ |w · ∂L/∂w|
/// of each of them.
std::vector<std::vector<double>> filter_importances(const Model& model, const ParameterLayout& layout,
                                                    std::span<const float> values, FilterImportance by);

struct PruningTarget {
  double keep = 0.5;     ///< share of the FLOP that is kept, in (0, 1]
  int multiple = 8;      ///< a layer keeps a multiple of this many channels
  InputSize size = 416;  ///< size of the input at which FLOP are counted
};

/// How far the FLOP that are left may fall below the share `keep`, as a part of that. More than `keep` are
/// left only where the network permits no choice within this.
constexpr double pruning_tolerance = 0.02;
/// A layer keeps at least this many channels, and at least an eighth of them.
constexpr int fewest_channels = 8;

/// Chooses which sets are removed to come to `target`: step by step those whose importance, as a share of
/// what is left of their group, is least for the FLOP that they save.
std::vector<bool> choose_removed(const Model& model, const CoupledChannels& coupled,
                                 const std::vector<std::vector<double>>& importances,
                                 const PruningTarget& target);

/// The values of `pruned`, the layout of without_channels(), from those of `layout`.
std::vector<float> values_without_channels(const Model& model, const ParameterLayout& layout,
                                           std::span<const float> values, const CoupledChannels& coupled,
                                           const std::vector<bool>& removed, const ParameterLayout& pruned);

}  // namespace brightnet
