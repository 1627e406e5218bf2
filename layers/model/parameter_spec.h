// What a kind of layer says of its parameters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace brightnet {

/// What an array of parameters is for: how it begins, and how it is trained.
enum class ParameterKind : uint8_t { weight, bias, scale, shift, running_mean, running_variance };

/// Weight decay is for weights alone.
constexpr bool decays(ParameterKind kind) {
  return kind == ParameterKind::weight;
}
/// Averages that the forward pass keeps; no gradient changes them.
constexpr bool is_running_statistic(ParameterKind kind) {
  return kind == ParameterKind::running_mean || kind == ParameterKind::running_variance;
}

struct ParameterSpec {
  std::string name;  ///< after the layer's: "weight"
  ParameterKind kind = ParameterKind::weight;
  std::vector<int64_t> shape;  ///< convolution weights are OHWI
};

}  // namespace brightnet
