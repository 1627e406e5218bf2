// Reading one layer's attributes from its YAML (private to layers/).
#pragma once

#include <string>
#include <vector>

#include "core/config.h"
#include "layers/model/model.h"

namespace brightnet {

/// What every layer may say besides its own attributes.
struct LayerReference {
  std::string name;               ///< empty: numbered by its kind
  std::vector<std::string> from;  ///< empty: the layer before
};

/// Reads the attributes of a layer of `kind`. `activation` is the model's default; `head` what its yolo
/// layers share. `filters: auto` is left as 0. Throws InputError for an unknown kind or key and for a value
/// out of range.
LayerAttributes read_layer(const std::string& kind, const YamlValue& value, Activation activation,
                           const YoloAttributes& head, LayerReference& reference);

/// Reads the `head:` mapping, the defaults of every yolo layer.
void read_head(const YamlValue& value, YoloAttributes& head);

/// Kinds of layers that a list may contain besides blocks.
const std::vector<std::string>& layer_kinds();
const std::vector<std::string>& activation_names();
Activation parse_activation(const std::string& name);

}  // namespace brightnet
