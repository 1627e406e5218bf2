// What a plan gives the convolutions of a network beyond what they cannot do without.
#include <gtest/gtest.h>

#include "kernels/cuda/installation.h"
#include "tests/layers/models.h"

namespace brightnet::testing {
namespace {

TEST(Workspaces, EveryConvolutionOfYolov4GetsWhatItsEnginesCanUse) {
  const Model model = shipped_model("yolov4", 80);
  const ParameterLayout layout(model);
  const Parameters parameters{&layout, nullptr, nullptr};
  for (const Precision precision : {Precision::fp32, Precision::fp16}) {
    std::unique_ptr<Backend> backend;
    try {
      backend = cuda::make_planning_backend(precision);
    } catch (const DeviceError& error) {
      GTEST_SKIP() << error.what();
    }
    const Network network({.model = &model,
                           .backend = backend.get(),
                           .parameters = &parameters,
                           .batch = 64,
                           .height = 608,
                           .width = 608,
                           .precision = precision,
                           .mode = Mode::train});
    size_t largest = 0;
    for (int i = 0; i < network.layer_count(); ++i) {
      if (!network.layer(i).convolution()) continue;
      const size_t given = network.memory().rows[static_cast<size_t>(i)].workspace;
      EXPECT_GE(given, network.layer(i).memory_needs().most_workspace) << network.memory().rows[i].name;
      largest = std::max(largest, given);
    }
    EXPECT_GT(largest, size_t{1} << (precision == Precision::fp32 ? 32 : 30));
    // The arena itself is no larger: these are the bytes that its tensors leave free.
    EXPECT_LT(network.memory().step, precision == Precision::fp32 ? size_t{60} << 30 : size_t{30} << 30);
  }
}

// One convolution whose input and output fill the arena leaves its engines nothing: the workspace grows.
TEST(Workspaces, GrowByASixteenthOfTheArenaWhereNothingIsFree) {
  const Model model = model_of(R"(
head: {anchors: [[10, 12]]}
layers:
  - conv: {filters: auto, size: 1, batch_norm: false, activation: linear}
  - yolo: {mask: [0]}
)",
                               80);
  const ParameterLayout layout(model);
  const Parameters parameters{&layout, nullptr, nullptr};
  std::unique_ptr<Backend> backend;
  try {
    backend = cuda::make_planning_backend(Precision::fp32);
  } catch (const DeviceError& error) {
    GTEST_SKIP() << error.what();
  }
  const Network network({.model = &model,
                         .backend = backend.get(),
                         .parameters = &parameters,
                         .batch = 64,
                         .height = 608,
                         .width = 608,
                         .precision = Precision::fp32,
                         .mode = Mode::infer});
  const size_t given = network.memory().rows[0].workspace, arena = network.memory().step;
  const MemoryNeeds needs = network.layer(0).memory_needs();
  EXPECT_GT(given, needs.workspace);
  EXPECT_LT(given, needs.most_workspace);
  // arena = before + before / 16 - the workspace that the layer could not do without
  EXPECT_NEAR(static_cast<double>(given), static_cast<double>(arena - given + needs.workspace) / 16, 1 << 20);
}

}  // namespace
}  // namespace brightnet::testing
