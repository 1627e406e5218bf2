// A network, and what darknet's weights make of its parameters.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "formats/darknet/weights.h"

namespace brightnet::testing {

inline constexpr const char* two_heads = R"(
name: two-heads
input: {size: 64, channels: 3}
activation: leaky
head: {anchors: [[8, 8], [14, 14], [22, 22], [32, 32]]}
layers:
  - conv: {name: stem, filters: 4, size: 3, stride: 2}
  - conv: {name: fine, filters: 6, size: 3, stride: 2}
  - conv: {name: predict1, filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
  - conv: {name: coarse, from: fine, filters: 5, size: 1}
  - conv: {name: predict2, filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [2, 3]}
)";

/// The parameters of a model, which are -7 until a file of darknet's fills them.
struct Loaded {
  explicit Loaded(Model made) : model(std::move(made)), layout(model), values(layout.floats(), -7.0f) {}
  DarknetWeightsReport load(const std::filesystem::path& file, const DarknetWeightsOptions& options = {}) {
    return load_darknet_weights(file, model, layout, values, options);
  }
  float value(const std::string& name, size_t index) const {
    return values[layout.find(name)->offset + index];
  }
  std::string refusal(const std::filesystem::path& file, const DarknetWeightsOptions& options = {}) {
    try {
      load(file, options);
    } catch (const InputError& e) {
      return e.what();
    }
    return "";
  }

  Model model;
  ParameterLayout layout;
  std::vector<float> values;
};

}  // namespace brightnet::testing
