// What fresh parameters are: the priors of the heads, the spread of the weights.
#include "layers/parameters.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/layers/models.h"

namespace brightnet {
namespace {

using testing::BoundNetwork;
using testing::model_of;

float logistic(float value) {
  return 1 / (1 + std::exp(-value));
}

constexpr const char* model_of_two_heads = R"(
activation: leaky
head: {anchors: [[10, 12], [24, 20], [30, 30]]}
layers:
  - conv: {name: stem, filters: 64, size: 3, stride: 2}
  - conv: {name: fine, filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
  - conv: {name: wide, from: stem, filters: 64, size: 3}
  - conv: {name: coarse, filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [2]}
)";

TEST(InitialParameters, HeadsExpectAnObjectInOnePredictionOfAHundredAndAllClassesAlike) {
  for (const int classes : {1, 3, 80}) {
    const Model model = model_of(model_of_two_heads, classes);
    const ParameterLayout layout(model);
    const auto values = initial_parameters(model, layout, 1);
    for (const auto& [name, anchors] : {std::pair("fine.bias", 2), {"coarse.bias", 1}}) {
      const ParameterEntry* bias = layout.find(name);
      ASSERT_NE(bias, nullptr);
      ASSERT_EQ(bias->count, static_cast<size_t>(anchors * (5 + classes)));
      for (int anchor = 0; anchor < anchors; ++anchor) {
        const float* prediction = values.data() + bias->offset + anchor * (5 + classes);
        for (int i = 0; i < 4; ++i) EXPECT_EQ(prediction[i], 0) << name;
        EXPECT_NEAR(logistic(prediction[4]), 0.01, 1e-6) << name;
        for (int c = 0; c < classes; ++c)
          EXPECT_NEAR(logistic(prediction[5 + c]), classes == 1 ? 0.5 : 1.0 / classes, 1e-6) << name;
      }
    }
  }
}

// He et al. 2015: a deviation of sqrt(2 / inputs), but for the convolutions before heads, a tenth of it.
TEST(InitialParameters, WeightsHaveTheSpreadThatTheirInputsAskFor) {
  const Model model = model_of(model_of_two_heads, 80);
  const ParameterLayout layout(model);
  const auto values = initial_parameters(model, layout, 1);
  const struct {
    const char* name;
    double inputs, factor;
  } cases[] = {
      {"stem.weight", 27, 1}, {"wide.weight", 576, 1}, {"fine.weight", 64, 0.1}, {"coarse.weight", 64, 0.1}};
  for (const auto& expected : cases) {
    const ParameterEntry* weight = layout.find(expected.name);
    ASSERT_NE(weight, nullptr) << expected.name;
    double sum = 0, squares = 0;
    for (size_t i = weight->offset; i < weight->offset + weight->count; ++i) {
      sum += values[i];
      squares += static_cast<double>(values[i]) * values[i];
    }
    const double count = static_cast<double>(weight->count);
    const double deviation = expected.factor * std::sqrt(2 / expected.inputs);
    // Four standard errors.
    EXPECT_NEAR(std::sqrt(squares / count) / deviation, 1, 4 / std::sqrt(2 * count)) << expected.name;
    EXPECT_NEAR(sum / count / deviation, 0, 4 / std::sqrt(count)) << expected.name;
  }
}

TEST(InitialParameters, NormalisationStartsAsTheIdentity) {
  const Model model = model_of(model_of_two_heads, 3);
  const ParameterLayout layout(model);
  const auto values = initial_parameters(model, layout, 1);
  int scales = 0;
  for (const auto& entry : layout.entries()) {
    if (entry.name.find("stem") == std::string::npos || entry.kind == ParameterKind::weight) continue;
    const bool one = entry.kind == ParameterKind::scale || entry.kind == ParameterKind::running_variance;
    scales += one;
    for (size_t i = entry.offset; i < entry.offset + entry.count; ++i)
      EXPECT_EQ(values[i], one) << entry.name;
  }
  EXPECT_EQ(scales, 2);
}

TEST(InitialParameters, AnotherSeedDrawsOtherWeights) {
  const Model model = model_of(model_of_two_heads, 3);
  const ParameterLayout layout(model);
  EXPECT_EQ(initial_parameters(model, layout, 1), initial_parameters(model, layout, 1));
  const auto one = initial_parameters(model, layout, 1), two = initial_parameters(model, layout, 2);
  const ParameterEntry &stem = *layout.find("stem.weight"), &wide = *layout.find("wide.weight");
  EXPECT_NE(one[stem.offset], two[stem.offset]);
  EXPECT_NE(one[stem.offset] / one[wide.offset], two[stem.offset] / two[wide.offset]);
}

TEST(InitialParameters, ThatNoMachineHoldsAreRefusedWithTheFigures) {
  const Model model = model_of(R"(
head: {anchors: [[9, 9]]}
layers:
  - conv: {filters: 65536, size: 31}
  - conv: {filters: 65536, size: 31}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0]}
)",
                               1);
  const ParameterLayout layout(model);
  try {
    initial_parameters(model, layout, 1);
    FAIL();
  } catch (const InputError& e) {
    for (const char* part : {"4127653429264 parameters", "15.0 TiB", "are free"})
      EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
}

// A run that is resumed by the next version, or begun again with its seed, has the same weights.
TEST(InitialParameters, AreDrawnByTheSeedAndTheLayersPlace) {
  const Model model = model_of(model_of_two_heads, 3);
  const ParameterLayout layout(model);
  const auto values = initial_parameters(model, layout, 7);
  for (const auto& [name, place, inputs] : {std::tuple("stem.weight", 0, 27), {"wide.weight", 3, 576}}) {
    Random random(7, Purpose::weights, 0, static_cast<uint64_t>(place));
    for (size_t i = 0; i < 5; ++i)
      EXPECT_FLOAT_EQ(values[layout.find(name)->offset + i],
                      std::sqrt(2.0f / static_cast<float>(inputs)) * random.normal())
          << name;
  }
}

TEST(ParameterLayout, HasWhatTrainsBeforeTheStatisticsEachInWholeCacheLines) {
  const ParameterLayout layout(model_of(model_of_two_heads, 3));
  std::string order;
  for (const ParameterEntry& entry : layout.entries()) {
    EXPECT_EQ(entry.offset % 16, 0u) << entry.name;
    EXPECT_EQ(entry.offset < layout.trainable_floats(), !is_running_statistic(entry.kind)) << entry.name;
    EXPECT_LE(entry.offset + entry.count, layout.floats()) << entry.name;
    if (entry.layer == 0) order += entry.name + ' ';
  }
  EXPECT_EQ(order, "stem.weight stem.scale stem.shift stem.running_mean stem.running_variance ");
  EXPECT_TRUE(layout.has_trainable(0));
  EXPECT_FALSE(layout.has_trainable(2)) << "a head has none";
  EXPECT_EQ(layout.find("stem.bias"), nullptr);
}

// Files of weights and exported networks depend on these: of values whose variance is small beside the epsilon.
TEST(BatchNorm, HasItsEpsilonAndItsMomentum) {
  EXPECT_EQ(batch_norm_epsilon, 1e-5f);
  EXPECT_EQ(batch_norm_momentum, 0.03f);
  const auto backend = make_cpu_backend();
  BoundNetwork bound(*backend,
                     model_of(R"(
head: {anchors: [[10, 10]]}
layers:
  - conv: {name: small, filters: 8, size: 1, activation: linear}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0]}
)",
                              1),
                     1, 32, Precision::fp32, Mode::train);
  auto values = bound.values();
  values[0] = 0.01f;  // red, which is 0 and 1 in turn: a mean of 0.005 and a variance of 2.5e-5
  values[1] = values[2] = 0;
  bound.set_values(values);
  std::vector<uint8_t> pixels(3 * 32 * 32, 255);
  for (size_t i = 0; i < pixels.size(); i += 6) pixels[i] = 0;
  bound.network().set_batch(pixels.data(), std::vector<std::vector<Truth>>(1));
  bound.network().forward();
  const auto* output = bound.network().output(0).as<float>();
  EXPECT_NEAR(output[0], -0.005 / std::sqrt(3.5e-5), 1e-3);
  EXPECT_NEAR(output[8], 0.005 / std::sqrt(3.5e-5), 1e-3);
  const auto after = bound.values();
  EXPECT_NEAR(after[bound.layout().find("small.running_mean")->offset], 0.03 * 0.005, 1e-7);
  EXPECT_NEAR(after[bound.layout().find("small.running_variance")->offset], 0.97 + 0.03 * 2.5e-5, 1e-6);
}

}  // namespace
}  // namespace brightnet
