// Networks for tests: a model in YAML, its parameters, and memory for one step.
#pragma once

#include <string>

#include "core/random.h"
#include "layers/model/reader.h"
#include "layers/network.h"
#include "tests/paths.h"

namespace brightnet::testing {

inline Model model_of(const std::string& yaml, int classes) {
  return parse_model(YamlDocument::parse(yaml, "test.yaml"), classes);
}

inline Model shipped_model(const std::string& name, int classes) {
  return load_model(source_dir() / "configs/models" / (std::string(name) + ".yaml"), classes);
}

/// Groups, squeeze and excitation, and weighted sums, without a kink.
inline constexpr const char* groups_factors_and_sums = R"(
activation: mish
head: {anchors: [[10, 12], [24, 20]], ignore_threshold: 1}
layers:
  - conv: {name: stem, filters: 8, size: 3, stride: 2}
  - conv: {name: a, filters: 12, size: 3, groups: 4, activation: swish}
  - conv: {name: b, filters: 12, size: 3, groups: 12}
  - global_average_pool: {name: pooled}
  - conv: {filters: 4, size: 1, batch_norm: false, activation: swish}
  - conv: {name: gates, filters: 12, size: 1, batch_norm: false, activation: logistic}
  - scale_channels: {name: excited, from: [b, gates]}
  - average_pool: {name: averaged, size: 3, stride: 1}
  - average_pool: {from: a, size: 2, stride: 2}
  - upsample: {name: blurred, factor: 2}
  - weighted_sum: {name: fused, from: [a, averaged, blurred], normalization: relu, activation: swish}
  - weighted_sum: {name: mean, from: [a, b], weights: input, normalization: softmax}
  - weighted_sum: {name: plain, from: [mean, fused], weights: input}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
)";

/// A network with its own memory and initial parameters. In fp32, one with a quantization simulates it.
class BoundNetwork {
 public:
  BoundNetwork(Backend& backend, Model model, int batch, const InputSize& size, Precision precision,
               Mode mode, bool recompute = false, bool loss_of_inference = false, int strokes = 0)
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
                  .height = size.height,
                  .width = size.width,
                  .precision = precision,
                  .mode = mode,
                  .recompute = recompute,
                  .loss_of_inference = loss_of_inference,
                  .simulates_int8 = precision == Precision::fp32 && !model_.quantization.empty(),
                  .strokes = strokes}),
        arena_(backend, network_.memory().arena()) {
    set_values(initial_parameters(model_, layout_, 1));
    backend.zero(gradients_.data(), gradients_.bytes());  // the padding is never written
    network_.bind(arena_.data());
  }

  void set_values(const std::vector<float>& values) {
    backend_.upload(values_.data(), values.data(), values_.bytes());
    ++parameters_.version;
  }
  /// In the backend's memory; call changed() after writing to it.
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

/// Random pixels, and three random truths in each image.
inline void give_input(BoundNetwork& bound, uint64_t seed = 1) {
  const auto& setup = bound.network().setup();
  Random random(seed, Purpose::test);
  std::vector<uint8_t> pixels(static_cast<size_t>(setup.batch) * setup.height * setup.width *
                              setup.model->channels);
  for (auto& pixel : pixels) pixel = static_cast<uint8_t>(random.below(256));
  std::vector<std::vector<Truth>> truths(setup.batch);
  for (auto& of_image : truths) {
    for (int i = 0; i < 3; ++i) {
      const float w = random.uniform(0.2f, 0.6f), h = random.uniform(0.2f, 0.6f);
      of_image.push_back({{random.uniform(w / 2, 1 - w / 2), random.uniform(h / 2, 1 - h / 2), w, h},
                          static_cast<int>(random.below(setup.model->classes))});
    }
  }
  if (setup.mode == Mode::train) {
    bound.network().set_batch(pixels.data(), truths);
    setup.backend->finish_uploads();
  } else {
    bound.network().set_pixels(pixels.data());
  }
}

}  // namespace brightnet::testing
