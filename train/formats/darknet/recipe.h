// The [net] section, and what darknet's detector takes from the last [yolo], as a run's configuration.
#pragma once

#include <string>
#include <vector>

#include "train/formats/darknet/cfg.h"
#include "train/formats/darknet/layers.h"

namespace brightnet {

/// The recipe as YAML: an optimizer step does what darknet's does with the same batch. `model` becomes its
/// `model:`, `stride` is the model's, `frozen` how many of its layers are not to be
/// trained. What is not carried over is added to `notes`. Throws InputError for
/// settings that would make training another one if they were passed over.
std::string write_darknet_recipe(const DarknetCfg& cfg, const std::string& model, int stride, int frozen,
                                 std::vector<ImportNote>& notes);

}  // namespace brightnet
