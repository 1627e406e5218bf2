// Opens trained weights of either kind: brightnet's .safetensors, or darknet's .weights with its .cfg.
#pragma once

#include "brightnet/weights.h"
#include "formats/weights.h"

namespace brightnet {

/// The network, with heads for the classes of its weights. Throws InputError for darknet's weights without a .cfg, or that
/// are not of all layers, and for files of other programs.
TrainedModel open_weights(const WeightsFiles& files);

}  // namespace brightnet
