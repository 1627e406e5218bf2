// The scales of 8 bits as JSON, in the metadata of weights files and of saved states (docs/deploy.md).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "layers/model/quantization.h"

namespace brightnet {

void to_json(nlohmann::json& json, const LayerQuantization& layer);
/// Throws nlohmann::json::exception for other JSON than that.
void from_json(const nlohmann::json& json, LayerQuantization& layer);

}  // namespace brightnet
