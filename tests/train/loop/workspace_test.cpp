// What a plan gives the convolutions of a network beyond what they cannot do without.
#include <optional>

#include <gtest/gtest.h>

#include "kernels/cuda/installation.h"
#include "tests/layers/models.h"

namespace brightnet::testing {
namespace {

/// The plan of a network at 608 x 608 in batches of 64, on a GPU that need not be there; none where CUDA is not built in.
class PlannedNetwork {
 public:
  PlannedNetwork(const Model& model, Precision precision, Mode mode)
      : layout_(model), parameters_{&layout_, nullptr, nullptr} {
    try {
      backend_ = cuda::make_planning_backend(precision);
    } catch (const DeviceError& error) {
      problem_ = error.what();
      return;
    }
    network_.emplace(NetworkSetup{.model = &model,
                                  .backend = backend_.get(),
                                  .parameters = &parameters_,
                                  .batch = 64,
                                  .height = 608,
                                  .width = 608,
                                  .precision = precision,
                                  .mode = mode});
  }

  const std::string& problem() const { return problem_; }
  const Network& operator*() const { return *network_; }

 private:
  const ParameterLayout layout_;
  const Parameters parameters_;
  std::unique_ptr<Backend> backend_;
  std::string problem_;
  std::optional<Network> network_;
};

TEST(Workspaces, EveryConvolutionOfYolov4GetsWhatItsEnginesCanUse) {
  const Model model = shipped_model("yolov4", 80);
  for (const Precision precision : {Precision::fp32, Precision::fp16}) {
    const PlannedNetwork planned(model, precision, Mode::train);
    if (!planned.problem().empty()) GTEST_SKIP() << planned.problem();
    const Network& network = *planned;
    size_t largest = 0;
    for (int i = 0; i < network.layer_count(); ++i) {
      if (!network.convolution(i)) continue;
      const size_t given = network.memory().rows[static_cast<size_t>(i)].workspace;
      EXPECT_GE(given, network.memory_needs(i).most_workspace) << network.memory().rows[i].name;
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
  const PlannedNetwork planned(model, Precision::fp32, Mode::infer);
  if (!planned.problem().empty()) GTEST_SKIP() << planned.problem();
  const Network& network = *planned;
  const size_t given = network.memory().rows[0].workspace, arena = network.memory().step;
  const MemoryNeeds needs = network.memory_needs(0);
  EXPECT_GT(given, needs.workspace);
  EXPECT_LT(given, needs.most_workspace);
  // arena = before + before / 16 - the workspace that the layer could not do without
  EXPECT_NEAR(static_cast<double>(given), static_cast<double>(arena - given + needs.workspace) / 16, 1 << 20);
}

}  // namespace
}  // namespace brightnet::testing
