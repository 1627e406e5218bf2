// Writing a model as a person would: with names, with what its layers share said once, and with what repeats
// as blocks. What it writes reads back (layers/model/reader.h) as exactly the same layers in the same order.
#pragma once

#include <string>
#include <vector>

#include "layers/model/model.h"

namespace brightnet {

/// The YAML of a model. Of its layers the attributes and inputs count; names are chosen here. `header`
/// becomes comment lines at the top.
std::string write_model_yaml(const Model& model, const std::vector<std::string>& header);

/// Whether two lists are the same network: attributes and inputs, not names.
bool same_layers(const std::vector<LayerDescription>& a, const std::vector<LayerDescription>& b);

}  // namespace brightnet
