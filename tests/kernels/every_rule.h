// Every rule of an optimizer, for what holds for all of them.
#pragma once

#include <string>
#include <vector>

#include "kernels/math/optimizer.h"

namespace brightnet::testing {

/// Every rule with its defaults, and SGD's other forms.
inline std::vector<OptimizerRule> every_rule() {
  std::vector<OptimizerRule> rules{Sgd{.nesterov = true}, Sgd{.decoupled = true}};
  const auto add = [&]<typename... Rules>(const std::variant<Rules...>&) { (rules.push_back(Rules()), ...); };
  add(OptimizerRule());
  return rules;
}

inline std::string name_of(const OptimizerRule& rule) {
  return std::visit([]<typename Rule>(const Rule&) { return std::string(Rule::name); }, rule);
}

}  // namespace brightnet::testing
