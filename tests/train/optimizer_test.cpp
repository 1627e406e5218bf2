#include "train/optimizer.h"

#include <cmath>
#include <limits>

#include "tests/train/small_run.h"
#include "train/ema.h"

namespace brightnet::testing {
namespace {

class OptimizerTest : public ::testing::Test {
 protected:
  OptimizerTest()
      : model_(parse_model(YamlDocument::parse(small_model, "small"), 2)),
        layout_(model_),
        backend_(make_cpu_backend()),
        values_(*backend_, layout_.floats() * sizeof(float)),
        gradients_(*backend_, layout_.trainable_floats() * sizeof(float)) {
    fill(values_, 1.0f);
    fill(gradients_, 0.5f);
  }

  static void fill(DeviceBuffer& buffer, float value) {
    std::fill_n(buffer.floats(), buffer.bytes() / sizeof(float), value);
  }
  std::unique_ptr<Optimizer> make(float ema_decay = 0) {
    EmaOptions ema{.decay = ema_decay, .ramp = 10};
    return make_optimizer(options_, ema, layout_, *backend_, values_.floats());
  }
  OptimizerStep step(int64_t number, float rate = 0.1f) {
    return {.arrays = {.values = values_.floats(), .gradients = gradients_.floats()},
            .rate = rate,
            .number = number};
  }
  float value(const std::string& name) const { return values_.floats()[layout_.find(name)->offset]; }
  std::vector<float> copy(const float* from, size_t count) const { return {from, from + count}; }

  Model model_;
  ParameterLayout layout_;
  std::unique_ptr<Backend> backend_;
  DeviceBuffer values_, gradients_;
  OptimizerOptions options_;
};

TEST_F(OptimizerTest, DecaysConvolutionWeightsOnlyAndCoversEveryParameterOnce) {
  const auto ranges = decay_ranges(layout_, 0.25f);
  size_t next = 0;
  for (const auto& range : ranges) {
    EXPECT_EQ(range.begin, next);
    next = range.end;
  }
  EXPECT_EQ(next, layout_.trainable_floats());
  for (const auto& entry : layout_.entries()) {
    if (entry.offset >= layout_.trainable_floats()) continue;
    for (const auto& range : ranges) {
      if (entry.offset < range.begin || entry.offset >= range.end) continue;
      EXPECT_EQ(range.decay, entry.kind == ParameterKind::weight ? 0.25f : 0.0f) << entry.name;
      EXPECT_LE(entry.offset + entry.count, range.end);
    }
  }
}

TEST_F(OptimizerTest, SgdDecaysAsDarknetDoesAndLeavesStatisticsAlone) {
  options_.clip = 0;
  options_.decay = 0.2f;
  options_.momentum = 0.9f;
  const auto optimizer = make();
  EXPECT_EQ(optimizer->step(step(1)), StepOutcome::applied);
  EXPECT_FLOAT_EQ(value("conv1.weight"), 1 - 0.1f * (0.5f + 0.2f));
  EXPECT_FLOAT_EQ(value("conv1.scale"), 1 - 0.1f * 0.5f);
  EXPECT_EQ(value("conv1.running_mean"), 1.0f);
  const float w = value("conv1.weight");
  optimizer->step(step(2));
  EXPECT_FLOAT_EQ(value("conv1.weight"), w - 0.1f * (0.9f * 0.7f + 0.5f + 0.2f * w));
}

TEST_F(OptimizerTest, AdamWMovesByTheRateWhateverTheGradientIs) {
  options_.kind = "adamw";
  options_.clip = 0;
  options_.decay = 0.1f;
  make()->step(step(1, 0.01f));
  EXPECT_NEAR(value("conv1.weight"), 1 - 0.01 * (1 + 0.1), 1e-6);
  EXPECT_NEAR(value("conv1.shift"), 1 - 0.01, 1e-6);
}

TEST_F(OptimizerTest, ScalesTheWholeGradientDownToTheNormAskedFor) {
  options_.clip = 1;
  options_.decay = 0;
  const auto optimizer = make();
  optimizer->step(step(1, 1.0f));
  const double norm = 0.5 * std::sqrt(static_cast<double>(layout_.trainable_floats()));
  EXPECT_NEAR(optimizer->gradient_norm(), norm, 1e-4);
  EXPECT_NEAR(value("conv1.weight"), 1 - 0.5 / norm, 1e-5);
}

TEST_F(OptimizerTest, SkipsAGradientThatIsNotFiniteAndStopsAfterARunOfThem) {
  options_.max_skips = 3;
  const auto optimizer = make(0.9f);
  const std::vector<float> before = copy(values_.floats(), layout_.floats());
  const std::vector<float> average = copy(optimizer->average(), layout_.floats());
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    gradients_.floats()[7] = bad;
    EXPECT_EQ(optimizer->step(step(1)), StepOutcome::skipped);
    EXPECT_EQ(copy(values_.floats(), layout_.floats()), before);
    EXPECT_EQ(copy(optimizer->average(), layout_.floats()), average);
  }
  gradients_.floats()[7] = 0.5f;
  EXPECT_EQ(optimizer->step(step(1)), StepOutcome::applied) << "a sound step ends the run of skips";
  gradients_.floats()[7] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(optimizer->step(step(2)), StepOutcome::skipped);
  EXPECT_EQ(optimizer->step(step(2)), StepOutcome::skipped);
  EXPECT_THROW(optimizer->step(step(2)), InputError);
}

TEST_F(OptimizerTest, SkipsAStepWhoseStatisticsAreNotFinite) {
  values_.floats()[layout_.find("conv1.running_variance")->offset] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(make()->step(step(1)), StepOutcome::skipped);
  EXPECT_EQ(value("conv1.weight"), 1.0f);
}

TEST_F(OptimizerTest, AveragesParametersAndStatisticsWithARampedDecay) {
  options_.decay = 0;
  const auto optimizer = make(0.8f);
  // Statistics move in the forward pass, before the step.
  const size_t statistic = layout_.find("conv1.running_variance")->offset;
  values_.floats()[statistic] = 3.0f;
  optimizer->step(step(5));
  const double decay = 0.8 * (1 - std::exp(-0.5));
  const size_t weight = layout_.find("conv1.weight")->offset;
  EXPECT_NEAR(optimizer->average()[weight], decay * 1 + (1 - decay) * values_.floats()[weight], 1e-6);
  EXPECT_NEAR(optimizer->average()[statistic], decay * 1 + (1 - decay) * 3, 1e-6);
}

TEST(Ema, ForgetsEarlyStepsSoon) {
  const EmaOptions options{.decay = 0.999f, .ramp = 100};
  EXPECT_NEAR(Ema::decay_at(options, 1), 0.999 * (1 - std::exp(-0.01)), 1e-6);
  EXPECT_NEAR(Ema::decay_at(options, 100000), 0.999, 1e-6);
  EXPECT_EQ(Ema::decay_at({.decay = 0.5f, .ramp = 0}, 1), 0.5f);
}

TEST_F(OptimizerTest, ListsTheStateThatAResumedRunNeeds) {
  const auto names = [&](float ema) {
    std::vector<StateArray> state;
    make(ema)->append_state(state);
    std::string all;
    for (const auto& array : state) all += array.name + ' ';
    return all;
  };
  EXPECT_EQ(names(0), "optimizer.momentum ");
  options_.kind = "adamw";
  EXPECT_EQ(names(0.9f), "ema optimizer.first optimizer.second ");
  EXPECT_EQ(optimizer_bytes(options_, layout_), 8 * layout_.trainable_floats());
}

}  // namespace
}  // namespace brightnet::testing
