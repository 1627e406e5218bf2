// The attributes of single sections of a .cfg (private to formats/darknet). The defaults are darknet's
// (parser.c), not ours; formats/darknet/layers.cpp connects the layers.
#pragma once

#include <optional>

#include "formats/darknet/cfg.h"
#include "layers/model/layer_kinds.h"

namespace brightnet {

/// The activation that a section names; one that darknet or brightnet lacks is refused.
Activation read_activation(const CfgSection& section, Activation otherwise);

ConvAttributes read_darknet_convolution(const CfgSection& section);
MaxPoolAttributes read_darknet_max_pool(const CfgSection& section);
AveragePoolAttributes read_darknet_average_pool(const CfgSection& section);

/// Whether a [shortcut] learns weights, and if so how it uses them.
std::optional<WeightedSumAttributes> read_darknet_sum_weights(const CfgSection& section);

/// Refuses a configuration that has another head than [yolo].
void refuse_other_networks(const DarknetCfg& cfg);

/// Says of a section that brightnet has no layer for why not.
[[noreturn]] void refuse_darknet_section(const CfgSection& section);

}  // namespace brightnet
