// Smaller networks: channels of trained convolutions removed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "brightnet/answer.h"
#include "brightnet/public.h"
#include "brightnet/weights.h"

namespace brightnet {

struct PruningOptions {
  WeightsFiles weights = {};
  std::filesystem::path out = {};  ///< folder that the model and the weights are written to
  bool replace = false;            ///< overwrites files there, but never those that are read
  double keep = 0.5;               ///< share of the FLOP that is left, in (0, 1]
  /// The measure of how much a channel matters: one of channel_importances(), or "auto": "taylor" with data; without, "scale", or
  /// "norm" for a network without batch-norm.
  std::string by = "auto";
  int multiple = 8;       ///< the channels that are left of a layer are a multiple of this
  std::string data = {};  ///< a data set as in dataset.h, whose split `train` "taylor" looks at
};

/// The words for PruningOptions::by. "norm": the filters' L2 norm; "scale": batch-norm's scale; "taylor": Σ |weight · gradient|.
BRIGHTNET_PUBLIC std::vector<std::string> channel_importances();

struct PrunedNetwork {
  Answer answer = {};                  ///< the layers, and what was removed of each
  std::filesystem::path model = {};    ///< the pruned network's YAML
  std::filesystem::path weights = {};  ///< the pruned network's .safetensors
  std::string fine_tuning = {};        ///< the command that trains it further
};

/// The files that prune() writes into this folder.
BRIGHTNET_PUBLIC std::vector<std::filesystem::path> files_of_pruning(const std::filesystem::path& out);

/// Removes whole channels of a network (docs/deploy.md#smaller-networks). Throws InputError for options outside their ranges,
/// for quantised weights, for files that are there, and for data that are not of the weights' classes.
BRIGHTNET_PUBLIC PrunedNetwork prune(const PruningOptions& options);

}  // namespace brightnet
