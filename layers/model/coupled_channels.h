// Which channels of a network can only be removed together, for structured pruning (as Fang et al. 2023, "DepGraph: Towards
// Any Structural Pruning", for these kinds of layers): an output channel of a convolution, whatever reads it, and whatever is
// added to it or multiplied by it.
#pragma once

#include <string>
#include <vector>

#include "layers/model/model.h"

namespace brightnet {

struct CoupledChannels {
  /// The set of each channel of each layer's output. Channels of one set are removed together or not at all.
  std::vector<std::vector<int>> sets;
  /// The reason why a set must stay, "read by head32" or "joined to the image"; empty: it can be removed.
  std::vector<std::string> kept_for;

  /// The set of a channel of an entry of a layer's inputs.
  int set_of(int input, int channel) const { return input == network_input ? channel : sets[input][channel]; }
};

CoupledChannels couple_channels(const Model& model);

/// Whether a convolution has filters of their own for each of its input channels.
bool is_depthwise(const Model& model, const LayerDescription& layer);

/// The model without the channels of the sets that are true in `removed`, none of which is kept for anything. The layers
/// keep their names and their order.
Model without_channels(const Model& model, const CoupledChannels& coupled, const std::vector<bool>& removed);

}  // namespace brightnet
