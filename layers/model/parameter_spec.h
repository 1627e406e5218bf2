// What a kind of layer states about its parameters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace brightnet {

/// The role of an array of parameters, which decides how it is initialised and trained: weight decay
/// applies to `weight` only.
enum class ParameterKind : uint8_t { weight, bias, scale, shift, running_mean, running_variance };

/// Averages that the forward pass updates; they have no gradient.
constexpr bool is_running_statistic(ParameterKind kind) {
  return kind == ParameterKind::running_mean || kind == ParameterKind::running_variance;
}

struct ParameterSpec {
  std::string name;  ///< after the layer's: "weight"
  ParameterKind kind = ParameterKind::weight;
  std::vector<int64_t> shape;  ///< convolution weights are OHWI
};

}  // namespace brightnet
