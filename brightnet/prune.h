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
  bool replace = false;            ///< existing files there, but never those that are read
  double keep = 0.5;               ///< of the FLOP at the weights' input size, in (0, 1]
  /// What says how much a channel matters: one of channel_importances(), or "auto": "taylor" with data; without, "scale", or
  /// "norm" for a network without batch-norm.
  std::string by = "auto";
  int multiple = 8;       ///< of the channels that are left of a layer
  std::string data = {};  ///< for "taylor": as in dataset.h; images of its split `train` are looked at
};

/// The words for PruningOptions::by. "norm": the filters' L2 norm; "scale": batch-norm's scale; "taylor": Σ |weight · gradient|.
BRIGHTNET_PUBLIC std::vector<std::string> channel_importances();

struct PrunedNetwork {
  Answer answer = {};                  ///< what was removed where
  std::filesystem::path model = {};    ///< its YAML
  std::filesystem::path weights = {};  ///< its .safetensors
  std::string fine_tuning = {};        ///< the command that trains it further
};

/// Removes whole channels of a network (docs/deploy.md#smaller-networks). Throws InputError for options outside their ranges,
/// for quantised weights, for files that are there, and for data that are not of the weights' classes.
BRIGHTNET_PUBLIC PrunedNetwork prune(const PruningOptions& options);

}  // namespace brightnet
