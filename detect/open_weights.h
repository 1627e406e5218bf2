// Opens trained weights of either kind: brightnet's .safetensors, or darknet's .weights with its .cfg.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "formats/weights.h"

namespace brightnet {

struct WeightsFiles {
  std::filesystem::path weights;     ///< a file, or the name of published weights, which are fetched
  std::filesystem::path cfg = {};    ///< darknet's description of a .weights file; empty for a .safetensors
  std::filesystem::path names = {};  ///< darknet's class names: a .names file or an obj.data
  std::vector<std::string> classes =
      {};  ///< darknet's class names where no file has them; empty: they are numbered
};

/// The network, with heads for the classes of its weights. Throws InputError for darknet's weights without a .cfg, or that
/// are not of all layers, and for files of other programs.
TrainedModel open_weights(const WeightsFiles& files);

}  // namespace brightnet
