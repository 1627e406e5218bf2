// The attributes of single layers as YAML (private to layers/model).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "layers/model/model.h"

namespace brightnet {

/// Keys and the text of their values, in the order in which they are written.
using YamlFields = std::vector<std::pair<std::string, std::string>>;

const char* activation_text(Activation activation);
std::string yaml_number(double value);

/// What a layer says beside its name and inputs: attributes that are not the default. `activation` is the
/// model's default for convolutions. Without `filters` of convolutions that stand before a head (0: auto).
/// Nothing for yolo layers, which layer_yaml's caller writes from head_fields().
YamlFields layer_fields(const LayerAttributes& attributes, Activation activation);

/// Every setting of a head, defaults included, its mask last.
YamlFields head_fields(const YoloAttributes& yolo);

}  // namespace brightnet
