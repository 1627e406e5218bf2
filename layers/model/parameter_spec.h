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
  switch (kind) {
    case ParameterKind::weight:
    case ParameterKind::bias:
    case ParameterKind::scale:
    case ParameterKind::shift: return false;
    case ParameterKind::running_mean:
    case ParameterKind::running_variance: return true;
  }
  return false;
}

struct ParameterSpec {
  std::string name;  ///< name within the layer: "weight"
  ParameterKind kind = ParameterKind::weight;
  std::vector<int64_t> shape;  ///< convolution weights are OHWI
};

}  // namespace brightnet
