// Writes a model that no YAML described: a line a layer. It reads back (layers/model/reader.h) as the same layers with
// the same names in the same order.
#pragma once

#include <string>
#include <vector>

#include "layers/model/model.h"

namespace brightnet {

/// `header` becomes comment lines at the top. With lines, each layer says at its end in which line it was described.
std::string write_model_yaml(const Model& model, const std::vector<std::string>& header = {},
                             bool with_lines = false);

/// Whether two lists are the same network: attributes and inputs, not names.
bool same_layers(const std::vector<LayerDescription>& a, const std::vector<LayerDescription>& b);

}  // namespace brightnet
