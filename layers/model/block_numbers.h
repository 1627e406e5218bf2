// Numbers of a block that depend on its parameters: "$filters", "2*$filters/4" (private to layers/model).
#pragma once

#include <map>
#include <string>

#include <yaml-cpp/yaml.h>

namespace brightnet {

/// Values of a block's parameters.
using BlockNumbers = std::map<std::string, int>;

/// A copy of `node` with every "$…" evaluated, from left to right. Throws InputError for a name that is not a
/// parameter and for a quotient that is not a whole number. The copy's nodes have no line numbers, so that
/// messages give `where`, the layer's position.
YAML::Node substitute(const YAML::Node& node, const BlockNumbers& numbers, const std::string& where);

}  // namespace brightnet
