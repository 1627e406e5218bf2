// Making activations again in the backward pass must change the memory and nothing else.
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "layers/network.h"
#include "tests/layers/models.h"

namespace brightnet {
namespace {

using testing::BoundNetwork;
using testing::model_of;
using testing::shipped_model;

// Concats of rebuilt parts in place, of rebuilt parts that are copied (two readers), of a concat's output and
// of kept tensors; a concat that another concat reads; a convolution that only shortcuts read.
constexpr const char* every_route = R"(
activation: mish
head: {anchors: [[10, 12], [24, 20]], ignore_threshold: 1}
layers:
  - conv: {name: stem, filters: 8, size: 3, stride: 2}
  - conv: {name: a, filters: 8, size: 3, activation: leaky}
  - conv: {name: b, filters: 8, size: 1}
  - shortcut: {name: sum, from: [b, stem]}
  - split: {name: half, from: a, groups: 2, part: 1}
  - conv: {name: c, from: half, filters: 8, size: 3}
  - concat: {name: inner, from: [c, a]}
  - conv: {name: d, filters: 8, size: 1}
  - conv: {name: twice, from: inner, filters: 8, size: 1, activation: swish}
  - conv: {name: e, from: twice, filters: 8, size: 1}
  - concat: {name: outer, from: [e, inner, sum, twice, d]}
  - max_pool: {size: 3, stride: 1}
  - conv: {filters: 8, size: 3, stride: 2}
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
)";

void expect_same_gradients(const Model& model, int size, Precision precision) {
  const auto backend = make_cpu_backend();
  BoundNetwork kept(*backend, model, 2, size, precision, Mode::train);
  BoundNetwork rebuilt(*backend, model, 2, size, precision, Mode::train, true);
  EXPECT_LT(rebuilt.network().memory().step, kept.network().memory().step);
  give_input(kept);
  give_input(rebuilt);
  for (int round = 0; round < 2; ++round) {  // the second finds the first one's remains in its memory
    EXPECT_EQ(kept.loss(), rebuilt.loss());
    const auto expected = kept.gradients(), actual = rebuilt.gradients();
    for (const auto& entry : kept.layout().entries()) {
      if (entry.offset >= kept.layout().trainable_floats()) continue;
      EXPECT_EQ(std::memcmp(&expected[entry.offset], &actual[entry.offset], entry.count * sizeof(float)), 0)
          << entry.name;
      EXPECT_TRUE(std::isfinite(actual[entry.offset])) << entry.name;
    }
    // Statistics move once a step, not once more when the output is made again.
    EXPECT_EQ(kept.values(), rebuilt.values());
  }
}

TEST(Recompute, GradientsAreTheSameToTheBitThroughEveryKindOfRoute) {
  for (const Precision precision : {Precision::fp32, Precision::bf16})
    expect_same_gradients(model_of(every_route, 3), 32, precision);
}

// The loss reads predictions before any other layer runs backward.
TEST(Recompute, PredictionsOfBatchNormAreThereForTheirLoss) {
  const Model model = model_of(R"(
activation: mish
head: {anchors: [[10, 12], [24, 20]], ignore_threshold: 1}
layers:
  - conv: {filters: 8, size: 3}
  - conv: {filters: 8, size: 3}
  - conv: {filters: 8, size: 3}
  - conv: {name: predictions, filters: 16, size: 1, stride: 2}
  - conv: {name: next, filters: 8, size: 3}
  - yolo: {from: predictions, mask: [0, 1]}
  - conv: {from: next, filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0, 1]}
)",
                               3);
  expect_same_gradients(model, 32, Precision::fp32);
}

TEST(Recompute, GradientsOfTinyAreTheSameToTheBit) {
  expect_same_gradients(shipped_model("yolov4-tiny", 3), 64, Precision::fp32);
}

TEST(SlowRecompute, GradientsOfYolov4AreTheSameToTheBit) {
  expect_same_gradients(shipped_model("yolov4", 3), 64, Precision::fp32);
}

TEST(Recompute, Yolov4TakesLessMemory) {
  const auto backend = make_cpu_backend();
  const Model model = shipped_model("yolov4", 80);
  const ParameterLayout layout(model);
  const Parameters parameters{.layout = &layout};
  NetworkSetup setup{.model = &model, .backend = backend.get(), .parameters = &parameters, .batch = 4};
  const size_t kept = Network(setup).memory().step;
  setup.recompute = true;
  const size_t rebuilt = Network(setup).memory().step;
  EXPECT_LT(static_cast<double>(rebuilt), 0.8 * static_cast<double>(kept))
      << rebuilt << " bytes of " << kept << " bytes";
}

}  // namespace
}  // namespace brightnet
