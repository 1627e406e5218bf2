// Networks for tests: a model in YAML, its parameters, and memory for one step.
#pragma once

#include <string>

#include "layers/network.h"
#include "tests/paths.h"

namespace brightnet::testing {

inline Model model_of(const std::string& yaml, int classes) {
  return parse_model(YamlDocument::parse(yaml, "test.yaml"), classes);
}

inline Model shipped_model(const std::string& name, int classes) {
  return load_model(source_dir() / "configs/models" / (std::string(name) + ".yaml"), classes);
}

/// A network with memory of its own and freshly drawn parameters.
class BoundNetwork {
 public:
  BoundNetwork(Backend& backend, Model model, int batch, int size, Precision precision, Mode mode,
               bool recompute = false)
      : backend_(backend),
        model_(std::move(model)),
        layout_(model_),
        values_(backend, layout_.floats() * sizeof(float)),
        gradients_(backend, layout_.trainable_floats() * sizeof(float)),
        parameters_{&layout_, values_.floats(), gradients_.floats()},
        network_({.model = &model_,
                  .backend = &backend,
                  .parameters = &parameters_,
                  .batch = batch,
                  .height = size,
                  .width = size,
                  .precision = precision,
                  .mode = mode,
                  .recompute = recompute}),
        arena_(backend, network_.memory().arena()) {
    set_values(initial_parameters(model_, layout_, 1));
    backend.zero(gradients_.data(), gradients_.bytes());  // nobody writes the padding
    network_.bind(arena_.data());
  }

  void set_values(const std::vector<float>& values) {
    backend_.upload(values_.data(), values.data(), values_.bytes());
    ++parameters_.version;
  }
  /// In the backend's memory; say changed() after writing there.
  float* device_values() const { return values_.floats(); }
  float* device_gradients() const { return gradients_.floats(); }
  void changed() { ++parameters_.version; }
  std::vector<float> values() const { return read(values_); }
  std::vector<float> gradients() const { return read(gradients_); }

  /// Sum of the loss over heads and batch.
  double loss(float gradient_scale = 1) {
    network_.forward();
    network_.backward({gradient_scale}, false);
    double sum = 0;
    for (const YoloLoss& part : network_.losses()) sum += part.box + part.objectness + part.classes;
    return sum;
  }

  Network& network() { return network_; }
  const Model& model() const { return model_; }
  const ParameterLayout& layout() const { return layout_; }
  Parameters& parameters() { return parameters_; }

 private:
  std::vector<float> read(const DeviceBuffer& buffer) const {
    std::vector<float> host(buffer.bytes() / sizeof(float));
    backend_.download(host.data(), buffer.data(), buffer.bytes());
    return host;
  }

  Backend& backend_;
  Model model_;
  ParameterLayout layout_;
  DeviceBuffer values_, gradients_;
  Parameters parameters_;
  Network network_;
  DeviceBuffer arena_;
};

}  // namespace brightnet::testing
