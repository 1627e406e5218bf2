// The [net] section, and the training settings of the last [yolo], as a run's configuration.
#pragma once

#include <string>
#include <vector>

#include "formats/darknet/cfg.h"
#include "formats/darknet/layers.h"

namespace brightnet {

/// The recipe as YAML: an optimizer step is equivalent to darknet's with the same batch. `model` becomes
/// its `model:`, `stride` is the model's, `frozen` the number of its frozen layers. Settings that are
/// ignored or changed are added to `notes`. Throws InputError for settings that cannot be ignored without
/// changing the training.
std::string write_darknet_recipe(const DarknetCfg& cfg, const std::string& model, int stride, int frozen,
                                 std::vector<ImportNote>& notes);

}  // namespace brightnet
