// Networks that round as 8 bits do (NetworkSetup::simulates_int8): what they compute, and that their gradients pass
// straight through the rounding.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "kernels/cpu/quantized_convolution.h"
#include "tests/layers/models.h"

namespace brightnet {
namespace {

using testing::BoundNetwork;
using testing::model_of;

/// Two convolutions read `a`, and what predicts reads both; between 8-bit convolutions everything that moves values.
constexpr const char* rounded_model = R"(
activation: linear
head: {anchors: [[10, 12], [24, 20]], ignore_threshold: 1}
layers:
  - conv: {name: a, filters: 8, size: 3, stride: 2, batch_norm: false}
  - conv: {name: b, filters: 8, size: 3, batch_norm: false}
  - conv: {name: c, from: a, filters: 8, size: 1, batch_norm: false, activation: mish}
  - concat: {name: both, from: [b, c]}
  - conv: {filters: auto, size: 1, batch_norm: false}
  - yolo: {mask: [0, 1]}
)";

constexpr const char* moving_model = R"(
activation: leaky
head: {anchors: [[10, 12], [24, 20]]}
layers:
  - conv: {name: a, filters: 8, size: 3, stride: 2, batch_norm: false}
  - max_pool: {name: pooled, size: 2, stride: 2}
  - upsample: {name: up, factor: 2}
  - split: {name: half, groups: 2, part: 1}
  - concat: {name: all, from: [up, a, half]}
  - conv: {name: b, filters: 8, size: 3, batch_norm: false}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
)";

const QuantizedRange narrow{0.005f, 100};  // saturates now and then

/// Every convolution but the one that predicts is in 8 bits; the greatest of its initial weights are a hundred steps.
Model quantized(const char* yaml) {
  Model model = model_of(yaml, 3);
  const ParameterLayout layout(model);
  const std::vector<float> values = initial_parameters(model, layout, 1);
  const std::vector<bool> predicts = predicting_layers(model);
  model.quantization.resize(model.layers.size());
  for (size_t i = 0; i < model.layers.size(); ++i) {
    LayerQuantization& layer = model.quantization[i];
    layer.output = narrow;
    const ParameterEntry* weight = layout.find(model.layers[i].name + ".weight");
    if (!weight || predicts[i]) continue;
    const auto filters = static_cast<size_t>(weight->shape[0]), each = weight->count / filters;
    for (size_t o = 0; o < filters; ++o) {
      float greatest = 0;
      for (size_t k = 0; k < each; ++k)
        greatest = std::max(greatest, std::abs(values[weight->offset + o * each + k]));
      layer.weight_scales.push_back(greatest / 100);
    }
  }
  return model;
}

TEST(SimulatedInt8, ComputesWhat8BitsCompute) {
  if (!cpu::has_int8_products()) GTEST_SKIP() << "this CPU does not sum 8-bit products exactly";
  const auto backend = make_cpu_backend();
  for (const char* yaml : {rounded_model, moving_model}) {
    const Model model = quantized(yaml);
    BoundNetwork in_8_bits(*backend, model, 2, 32, Precision::int8, Mode::infer),
        simulated(*backend, model, 2, 32, Precision::fp32, Mode::infer);
    Model not_rounded = model;
    not_rounded.quantization.clear();
    BoundNetwork fp32(*backend, not_rounded, 2, 32, Precision::fp32, Mode::infer);
    std::vector<Tensor> outputs;
    for (BoundNetwork* bound : {&in_8_bits, &simulated, &fp32}) {
      give_input(*bound);
      bound->network().infer();
      outputs.push_back(bound->network().output(bound->network().layer_count() - 1));
    }
    double error = 0, rounding = 0;
    for (size_t i = 0; i < outputs[0].count(); ++i) {
      const float exact = outputs[2].as<float>()[i];
      error += std::pow(outputs[0].as<float>()[i] - outputs[1].as<float>()[i], 2);
      rounding += std::pow(outputs[0].as<float>()[i] - exact, 2);
    }
    // Sums in the middle between two steps may be rounded either way.
    EXPECT_LT(error, 1e-2 * rounding);
    EXPECT_GT(rounding, 0);
  }
}

/// How far each weight or bias of an array must go, so that what it is rounded to, or what it is added to, moves by one step.
std::vector<float> steps_of(const BoundNetwork& bound, const ParameterEntry& entry) {
  const LayerQuantization& layer = bound.model().quantization[static_cast<size_t>(entry.layer)];
  std::vector<float> steps(entry.count, 2e-3f);  // of what is not rounded
  if (layer.weight_scales.empty()) return steps;
  const size_t each = entry.count / layer.weight_scales.size();
  const bool is_weight = each > 1, is_rounded_by_readers = bound.model().layers[entry.layer].name == "a";
  for (size_t i = 0; i < entry.count; ++i)
    steps[i] = is_weight ? layer.weight_scales[i / each] : is_rounded_by_readers ? narrow.scale : steps[i];
  return steps;
}

// Rounding is a staircase, on which whole steps are as long as they are high: where a difference moves everything that is
// rounded by whole steps, it is that of the straight line, and the gradient must be its slope.
TEST(SimulatedInt8, GradientsMatchDifferencesOfWholeSteps) {
  const auto backend = make_cpu_backend();
  BoundNetwork bound(*backend, quantized(rounded_model), 2, 32, Precision::fp32, Mode::train);
  give_input(bound);
  bound.loss();
  const auto gradient = bound.gradients();
  const auto values = bound.values();
  const Tensor a = bound.network().output(0);
  const auto kept = std::count_if(a.as<float>(), a.as<float>() + a.count(),
                                  [](float value) { return narrow.contains(value); });
  EXPECT_TRUE(kept > 500 && kept < 3500) << kept << " of 4096 values do not saturate";
  int compared = 0;
  for (const auto& entry : bound.layout().entries()) {
    if (entry.name == "a.weight") continue;  // moves its outputs by no whole steps
    ++compared;
    const std::vector<float> steps = steps_of(bound, entry);
    for (const bool random_signs : {false, true}) {  // or the gradient's own, along which all of it adds up
      Random random(1, Purpose::test, 0, entry.offset);
      std::vector<float> direction(entry.count);
      double along = 0, size = 0;
      for (size_t i = 0; i < entry.count; ++i) {
        const bool up = random_signs ? random.chance(0.5f) : gradient[entry.offset + i] > 0;
        direction[i] = up ? steps[i] : -steps[i];
        along += static_cast<double>(gradient[entry.offset + i]) * direction[i];
        size += std::abs(static_cast<double>(gradient[entry.offset + i]) * direction[i]);
      }
      const auto loss_at = [&](int step) {
        auto moved = values;
        for (size_t i = 0; i < entry.count; ++i)
          moved[entry.offset + i] += static_cast<float>(step) * direction[i];
        bound.set_values(moved);
        return bound.loss();
      };
      const double near = (loss_at(1) - loss_at(-1)) / 2, wide = (loss_at(2) - loss_at(-2)) / 4;
      // A few of a's outputs lie within two steps of an end of the range, and leave the straight line there.
      EXPECT_NEAR(along, (4 * near - wide) / 3, 0.04 * size) << entry.name;
    }
  }
  EXPECT_EQ(compared, 7);
  bound.set_values(values);
}

TEST(SimulatedInt8, NoGradientPassesWhereTheInputSaturates) {
  const auto backend = make_cpu_backend();
  Model model = quantized(rounded_model);
  model.quantization[0].output = QuantizedRange{1e-6f, 0};  // all of a's outputs saturate
  BoundNetwork bound(*backend, model, 2, 32, Precision::fp32, Mode::train);
  give_input(bound);
  bound.loss();
  const auto gradient = bound.gradients();
  for (const auto& entry : bound.layout().entries()) {
    double size = 0;
    for (size_t i = 0; i < entry.count; ++i) size += std::abs(gradient[entry.offset + i]);
    EXPECT_EQ(size == 0, entry.name == "a.weight" || entry.name == "a.bias") << entry.name;
  }
}

TEST(SimulatedInt8, MicroBatchesAddUp) {
  const auto backend = make_cpu_backend();
  BoundNetwork bound(*backend, quantized(rounded_model), 2, 32, Precision::fp32, Mode::train);
  give_input(bound);
  bound.loss();
  const auto once = bound.gradients();
  bound.network().forward();
  bound.network().backward({1}, true);
  const auto twice = bound.gradients();
  for (size_t i = 0; i < once.size(); ++i)
    EXPECT_NEAR(twice[i], 2 * once[i], 1e-4 * std::abs(once[i]) + 1e-5);
}

}  // namespace
}  // namespace brightnet
