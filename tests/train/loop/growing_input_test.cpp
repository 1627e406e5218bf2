#include "train/loop/growing_input.h"

#include <gtest/gtest.h>

namespace brightnet {
namespace {

RunConfig growing(float grow, std::vector<InputSize> sizes) {
  RunConfig config;
  config.train.batch = 4;
  config.train.epochs = 10;
  config.train.grow = grow;
  config.train.sizes = std::move(sizes);
  return config;
}

TEST(GrowingInput, SizesHaveEqualPartsOfTheGrowingPart) {
  const RunConfig config = growing(0.6f, {224, 320, 416});
  const RunLength length(config.train, 40);  // 100 steps
  EXPECT_EQ(GrowingInput(config).boundaries(length, {}), (std::vector<int64_t>{30, 60}));
}

Progress planned(const Plan& plan) {
  Progress progress;
  progress.plans = {plan};
  return progress;
}

TEST(GrowingInput, FollowsLaterPlansWithoutReturningToSmallerSizes) {
  const RunConfig config = growing(0.6f, {224, 320, 416});
  const RunLength length(config.train, 40);
  const GrowingInput input(config);
  EXPECT_EQ(input.boundaries(length, planned({10, 200})), (std::vector<int64_t>{60, 120}));
  EXPECT_EQ(input.boundaries(length, planned({40, 200})), (std::vector<int64_t>{30, 120}))
      << "the first has passed";
  EXPECT_EQ(input.boundaries(length, planned({25, 50})), (std::vector<int64_t>{25, 30}))
      << "it should have begun before";
}

TEST(GrowingInput, WorkIsInProportionToThePixels) {
  const RunConfig config = growing(0.5f, {208, 416});
  const GrowingInput input(config);
  const std::vector<int64_t> boundaries{50};
  EXPECT_DOUBLE_EQ(input.work(0, 50, boundaries), 12.5);
  EXPECT_DOUBLE_EQ(input.work(48, 52, boundaries), 2.5);
  EXPECT_DOUBLE_EQ(input.work(60, 70, boundaries), 10);
  EXPECT_DOUBLE_EQ(input.least_work(), 0.25);
}

TEST(GrowingInput, IsInactiveWithOneSizeAndWithSizesThatAreDrawn) {
  for (const RunConfig& config : {growing(0.6f, {}), growing(0.6f, {416}), growing(0, {224, 416})}) {
    const GrowingInput input(config);
    EXPECT_FALSE(input.active());
    EXPECT_TRUE(input.boundaries(RunLength(config.train, 40), {}).empty());
    EXPECT_EQ(input.work(3, 10, {}), 7);
    EXPECT_EQ(input.least_work(), 1);
  }
}

TEST(GrowingInput, StaysAtTheSizesThatWereReachedHoweverMuchLongerTheRunBecomes) {
  const RunConfig config = growing(0.6f, {224, 320, 416});
  RunConfig longer = config;
  longer.train.epochs = 30;  // 300 steps: 90 and 180 by their number alone
  Progress progress;
  progress.iteration = 50;
  progress.input_stage = 1;
  EXPECT_EQ(GrowingInput(longer).boundaries(RunLength(longer.train, 40), progress),
            (std::vector<int64_t>{50, 180}));
}

TEST(GrowingInput, EvaluatesAtTheSizeThatIsTrained) {
  RunConfig config = growing(0.6f, {224, 320, 416});
  config.evaluate.size = 608;
  const GrowingInput input(config);
  Progress progress;
  for (const auto& [size, evaluated] :
       std::vector<std::pair<InputSize, InputSize>>{{224, 224}, {320, 320}, {416, 608}}) {
    progress.input_stage = input.stage_of(size);
    EXPECT_EQ(input.evaluation_size(progress), evaluated);
    EXPECT_EQ(input.full(progress), evaluated == 608);
  }
  const GrowingInput constant(growing(0, {224, 416}));
  EXPECT_EQ(constant.stage_of(224), 0);
  EXPECT_TRUE(constant.full({}));
}

}  // namespace
}  // namespace brightnet
