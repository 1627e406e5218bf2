// A network with twins (layers/twin_convolutions.h), and the same with another layer between the two of each pair,
// which are computed one by one then.
#pragma once

#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include <gtest/gtest.h>

#include "tests/layers/models.h"

namespace brightnet::testing {

/// Neither an activation nor the loss of a box has a kink: leaky ReLU's gradient at a number near zero is that of its sign,
/// and an IoU's, where an edge of the predicted box lies on that of the object, is that of the side it is on. 16 bits decide
/// neither, and each was seen to change the gradients of all layers below it by 6 % on a GPU.
inline const std::string smooth_head =
    "activation: mish\nhead: {anchors: [[10, 12], [24, 20]], ignore_threshold: 1, iou_loss: mse}\n";

/// Twins of the image; twins whose outputs lie in concats, are summed, feed residual blocks; of an input that other
/// layers read too, before and after.
inline std::string network_of_twins(bool together) {
  const auto pair = [&](const std::string& first, const std::string& second, const std::string& other) {
    return (together ? other + first : first + other) + second;
  };
  const auto conv = [](const std::string& options) { return "  - conv: {" + options + "}\n"; };
  return smooth_head + "layers:\n" +
         pair(conv("name: red, from: input, filters: 8, size: 3, stride: 2"),
              conv("name: blue, from: input, filters: 16, size: 3, stride: 2, activation: swish"),
              conv("name: green, from: input, filters: 8, size: 5, stride: 2")) +
         "  - concat: {from: [red, green, blue]}\n" + conv("name: down, filters: 16, size: 3, stride: 2") +
         pair(conv("name: bypass, from: down, filters: 16, size: 1"),
              conv("name: main, from: down, filters: 8, size: 1, activation: swish"),
              conv("name: wide, from: down, filters: 8, size: 3")) +
         conv("from: main, filters: 8, size: 1") + conv("name: b, filters: 8, size: 3") +
         "  - shortcut: {name: body, from: [b, main]}\n" + conv("name: out, filters: 16, size: 1") +
         "  - concat: {from: [out, bypass, wide]}\n" + conv("name: merge, filters: 16, size: 1") +
         pair(conv("name: left, from: merge, filters: 24, size: 1"),
              conv("name: right, from: merge, filters: 24, size: 1, activation: linear"),
              "  - average_pool: {name: pooled, from: merge, size: 3, stride: 1}\n") +
         "  - shortcut: {name: sum, from: [right, left]}\n  - concat: {name: all, from: [sum, pooled, merge]}\n" +
         pair(conv("name: up, filters: 8, from: all, size: 3, stride: 2, activation: swish"),
              conv("name: low, from: all, filters: 16, size: 3, stride: 2"),
              conv("name: far, from: all, filters: 8, size: 5, stride: 2")) +
         "  - concat: {from: [low, far, up]}\n" +
         conv("filters: auto, size: 1, batch_norm: false, activation: linear") + "  - yolo: {mask: [0, 1]}\n";
}

/// Twins beside large tensors that are not there while their convolution runs: where most of the arena is free in the
/// calls of the first twin and not in those of the second, whose output and gradient are as short-lived.
inline std::string network_of_short_lived_twins(bool together) {
  const std::string first = "  - conv: {name: left, from: stem, filters: 16, size: 1}\n",
                    other = "  - average_pool: {name: other, from: stem, size: 3, stride: 1}\n";
  return smooth_head +
         "layers:\n"
         "  - conv: {name: stem, filters: 8, size: 3, stride: 2}\n" +
         (together ? other + first : first + other) +
         "  - conv: {name: right, from: stem, filters: 8, size: 1}\n"
         "  - average_pool: {name: of_left, from: left, size: 3, stride: 1}\n"
         "  - average_pool: {name: of_right, from: right, size: 3, stride: 1}\n"
         "  - concat: {from: [of_left, of_right, other]}\n"
         "  - upsample: {factor: 4}\n"
         "  - space_to_depth: {block: 4}\n"
         "  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}\n"
         "  - yolo: {mask: [0, 1]}\n";
}

/// Layers whose convolution is that of the layer before.
inline int second_twins(const Network& network) {
  int count = 0;
  for (int i = 0; i < network.layer_count(); ++i) {
    const bool convolves = std::holds_alternative<ConvAttributes>(
        network.setup().model->layers[static_cast<size_t>(i)].attributes);
    count += convolves && !network.convolution(i);
  }
  return count;
}

/// Of the last forward pass.
inline std::vector<float> predictions(BoundNetwork& bound, Backend& backend) {
  const Tensor output = bound.network().output(bound.network().layer_count() - 1);
  const DeviceBuffer wide(backend, output.count() * sizeof(float));
  backend.cast(output, {wide.data(), output.shape, DType::f32});
  std::vector<float> host(output.count());
  backend.download(host.data(), wide.data(), wide.bytes());
  return host;
}

/// What two micro-batches give: their predictions, loss, gradients' sum and running statistics; by name.
struct TrainedTwins {
  double loss = 0;
  std::map<std::string, std::vector<float>> arrays;
  int second_twins = 0;
};

inline TrainedTwins train_twins(Backend& backend, const std::string& yaml, Precision precision,
                                bool recompute) {
  BoundNetwork bound(backend, model_of(yaml, 3), 2, 64, precision, Mode::train, recompute);
  const auto& entries = bound.layout().entries();
  std::vector<float> values(bound.layout().floats());
  for (const ParameterEntry& entry : entries) {  // layers' numbers, which initial values depend on, differ
    Random random(std::hash<std::string>()(entry.name), Purpose::test);
    const bool variance = entry.kind == ParameterKind::running_variance,
               scale = entry.kind == ParameterKind::scale;
    const float size =
        entry.kind == ParameterKind::weight
            ? std::sqrt(2.0f * static_cast<float>(entry.shape[0]) / static_cast<float>(entry.count))
            : 0.3f;
    for (size_t i = 0; i < entry.count; ++i)
      values[entry.offset + i] = variance ? 1.0f : size * random.normal() + (scale ? 1.0f : 0.0f);
  }
  bound.set_values(values);
  TrainedTwins trained;
  for (const uint64_t part : {0, 1}) {
    give_input(bound, 5 + part);
    bound.network().forward();
    trained.arrays["predictions of part " + std::to_string(part)] = predictions(bound, backend);
    bound.network().backward({16}, part > 0);
    for (const YoloLoss& loss : bound.network().losses())
      trained.loss += loss.box + loss.objectness + loss.classes;
  }
  const std::vector<float> gradients = bound.gradients(), after = bound.values();
  for (const ParameterEntry& entry : entries) {
    const bool trainable = entry.offset < gradients.size();
    const auto from = (trainable ? gradients : after).begin() + static_cast<long>(entry.offset);
    trained.arrays[entry.name].assign(from, from + static_cast<long>(entry.count));
  }
  trained.second_twins = second_twins(bound.network());
  return trained;
}

/// `tolerance`: of the lengths of gradients, relative.
inline void expect_alike(const TrainedTwins& together, const TrainedTwins& apart, double tolerance) {
  EXPECT_EQ(apart.second_twins, 0);
  EXPECT_GT(together.second_twins, 0);
  EXPECT_NEAR(together.loss / apart.loss, 1, tolerance);
  ASSERT_EQ(together.arrays.size(), apart.arrays.size());
  for (const auto& [name, expected] : apart.arrays) {
    const std::vector<float>& actual = together.arrays.at(name);
    double difference = 0, size = 0;
    for (size_t i = 0; i < expected.size(); ++i) {
      difference += std::pow(static_cast<double>(actual[i]) - expected[i], 2);
      size += std::pow(static_cast<double>(expected[i]), 2);
    }
    EXPECT_GT(size, 0) << name;
    EXPECT_LT(std::sqrt(difference / size), tolerance) << name;
  }
}

inline void expect_twins_as_apart(Backend& backend, Precision precision, bool recompute, double tolerance) {
  SCOPED_TRACE(std::string(enum_name(precision)) + (recompute ? ", recomputed" : ""));
  expect_alike(train_twins(backend, network_of_twins(true), precision, recompute),
               train_twins(backend, network_of_twins(false), precision, recompute), tolerance);
}

/// Once a layer has passed, its gradients are final, as an all-reduce that starts then needs.
inline void expect_final_gradients(Backend& backend, Precision precision) {
  SCOPED_TRACE(std::string(enum_name(precision)));
  BoundNetwork bound(backend, model_of(network_of_twins(true), 3), 2, 64, precision, Mode::train);
  std::vector<int> all(static_cast<size_t>(bound.network().layer_count()));
  std::iota(all.rbegin(), all.rend(), 0);
  for (int round = 0; round < 3; ++round) {  // queued, recorded, replayed
    backend.zero(bound.device_gradients(), bound.gradients().size() * sizeof(float));
    give_input(bound);
    std::vector<int> passed;
    std::vector<std::vector<float>> seen;
    const auto look = [&](int layer) {
      passed.push_back(layer);
      seen.push_back(bound.gradients());
    };
    bound.network().forward_backward({256}, false, nullptr, {[] {}, all, look});
    ASSERT_EQ(passed, all);
    const std::vector<float> final = bound.gradients();
    for (size_t at = 0; at < passed.size(); ++at) {
      for (const ParameterEntry& entry : bound.layout().entries()) {
        if (entry.layer < passed[at] || entry.offset >= final.size()) continue;
        for (size_t i = entry.offset; i < entry.offset + entry.count; ++i)
          ASSERT_EQ(seen[at][i], final[i])
              << entry.name << " when layer " << passed[at] << " has passed, round " << round;
      }
    }
  }
}

}  // namespace brightnet::testing
