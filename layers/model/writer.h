// Writes a model as a person would: with names, shared settings once, and repetitions as blocks. The result
// reads back (layers/model/reader.h) as exactly the same layers in the same order.
#pragma once

#include <string>
#include <vector>

#include "layers/model/model.h"

namespace brightnet {

/// The YAML of a model. Only the attributes and inputs of its layers are used; names are chosen here.
/// `header` becomes comment lines at the top.
std::string write_model_yaml(const Model& model, const std::vector<std::string>& header);

/// Whether two lists are the same network: attributes and inputs, not names.
bool same_layers(const std::vector<LayerDescription>& a, const std::vector<LayerDescription>& b);

}  // namespace brightnet
