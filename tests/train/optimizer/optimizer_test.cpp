#include "train/optimizer/optimizer.h"

#include "kernels/math/loss_scaler.h"
#include "tests/train/small_parameters.h"

namespace brightnet::testing {
namespace {

class OptimizerTest : public SmallParameters {
 protected:
  Optimizer make(float ema_decay = 0) {
    const EmaOptions ema{.decay = ema_decay, .ramp = 2000.0f};
    return Optimizer(options_, ema, layout_, *backend_, values_.floats());
  }
  /// A step that is applied, without averaging.
  void step(Optimizer& optimizer, float rate = 0.1f) {
    StepState state;
    state.rate = rate;
    state.loss_scale = 1;
    state.applied = steps_++;
    decide_step({.beta1 = options_.beta1, .beta2 = options_.beta2}, 1, 1, state);
    optimizer.step(
        {.count = layout_.trainable_floats(), .values = values_.floats(), .gradients = gradients_.floats()},
        &state);
  }

  int64_t steps_ = 0;
  OptimizerOptions options_ = OptimizerOptions::of(OptimizerKind::sgd);
};

TEST_F(OptimizerTest, DecaysConvolutionWeightsOnlyAndCoversEveryParameterOnce) {
  const auto ranges = parameter_ranges(layout_, 0.25f);
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
  options_.decay = 0.2f;
  options_.momentum = 0.9f;
  Optimizer optimizer = make();
  step(optimizer);
  EXPECT_FLOAT_EQ(value("conv1.weight"), 1 - 0.1f * (0.5f + 0.2f));
  EXPECT_FLOAT_EQ(value("conv1.scale"), 1 - 0.1f * 0.5f);
  EXPECT_EQ(value("conv1.running_mean"), 1.0f);
  const float w = value("conv1.weight");
  step(optimizer);
  EXPECT_FLOAT_EQ(value("conv1.weight"), w - 0.1f * (0.9f * 0.7f + 0.5f + 0.2f * w));
}

TEST_F(OptimizerTest, SgdTakesNesterovsStepAndDecoupledDecayWhereItIsAskedTo) {
  options_.decay = 0.2f;
  options_.momentum = 0.5f;
  options_.nesterov = true;
  options_.decay_kind = DecayKind::decoupled;
  Optimizer optimizer = make();
  step(optimizer);
  EXPECT_FLOAT_EQ(value("conv1.weight"), (1 - 0.1f * 0.2f) - 0.1f * (0.5f + 0.5f * 0.5f));
  EXPECT_FLOAT_EQ(value("conv1.scale"), 1 - 0.1f * (0.5f + 0.5f * 0.5f));
}

TEST_F(OptimizerTest, LionStepsByItsFirstDecayAndRemembersByItsSecond) {
  options_ = OptimizerOptions::of(OptimizerKind::lion);
  options_.decay = 0;
  options_.beta1 = 0.9f;
  options_.beta2 = 0.5f;
  Optimizer optimizer = make();
  step(optimizer);
  fill(gradients_, -0.5f);
  step(optimizer);
  EXPECT_FLOAT_EQ(value("conv1.weight"), 0.8f) << "0.9 · 0.25 − 0.1 · 0.5 is above 0";
}

TEST_F(OptimizerTest, AdamWMovesByTheRateWhateverTheGradientIs) {
  options_.kind = OptimizerKind::adamw;
  options_.decay = 0.1f;
  Optimizer optimizer = make();
  step(optimizer, 0.01f);
  EXPECT_NEAR(value("conv1.weight"), 1 - 0.01 * (1 + 0.1), 1e-6);
  EXPECT_NEAR(value("conv1.shift"), 1 - 0.01, 1e-6);
}

TEST_F(OptimizerTest, LionMovesByTheRateWhateverTheGradientIs) {
  options_ = OptimizerOptions::of(OptimizerKind::lion);
  options_.decay = 0.1f;
  Optimizer optimizer = make();
  step(optimizer, 0.01f);
  EXPECT_NEAR(value("conv1.weight"), 1 - 0.01 * (1 + 0.1), 1e-6);
  EXPECT_NEAR(value("conv1.shift"), 1 - 0.01, 1e-6);
}

TEST_F(OptimizerTest, ListsTheStateThatAResumedRunNeeds) {
  const auto names = [&](float ema) {
    std::vector<StateArray> state;
    make(ema).append_state(state);
    std::string all;
    for (const auto& array : state) all += array.name + ' ';
    return all;
  };
  EXPECT_EQ(names(0), "optimizer.momentum ");
  options_.kind = OptimizerKind::adamw;
  EXPECT_EQ(names(0.9f), "ema optimizer.first optimizer.second ");
  options_.kind = OptimizerKind::lion;
  EXPECT_EQ(names(0), "optimizer.first ");
  const size_t before = backend_->allocated_bytes();
  Optimizer optimizer = make();
  EXPECT_EQ(optimizer_bytes(options_, layout_), backend_->allocated_bytes() - before);
}

}  // namespace
}  // namespace brightnet::testing
