#include "train/optimizer/optimizer_step.h"

#include <cmath>
#include <limits>

#include "tests/train/small_parameters.h"
#include "train/config/config.h"

namespace brightnet::testing {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

class OptimizerStepTest : public SmallParameters {
 protected:
  OptimizerStepTest() {
    config_.optimizer = OptimizerOptions::of(OptimizerKind::sgd);
    config_.optimizer.decay = 0;
    config_.train.batch = 64;
    config_.train.precision = Precision::fp32;
    config_.ema = {.decay = 0, .ramp = 10};
  }

  OptimizerStep make() {
    return OptimizerStep(config_.optimizer, config_.ema, config_.train.precision, layout_, *backend_,
                         values_.floats(), config_.train.batch);
  }
  StepState step(OptimizerStep& optimizer_step, float rate = 0.1f) {
    optimizer_step.set_rate(rate);
    optimizer_step.step(gradients_.floats());
    return *optimizer_step.observe();
  }
  std::vector<float> copy(const float* from, size_t count) const { return {from, from + count}; }
  std::vector<float> values() const { return copy(values_.floats(), layout_.floats()); }
  float& statistic() { return value("conv1.running_variance"); }

  RunConfig config_;
};

TEST_F(OptimizerStepTest, ScalesTheWholeGradientDownToTheNormAskedFor) {
  config_.optimizer.clip = 1;
  OptimizerStep optimizer_step = make();
  const StepState seen = step(optimizer_step, 1.0f);
  const double norm = 0.5 * std::sqrt(static_cast<double>(layout_.trainable_floats()));
  EXPECT_NEAR(seen.norm, norm, 1e-4);
  EXPECT_NEAR(values_.floats()[0], 1 - 0.5 / norm, 1e-5);
}

TEST_F(OptimizerStepTest, SkipsAGradientThatIsNotFiniteAndPutsTheStatisticsBack) {
  config_.ema.decay = 0.9f;
  OptimizerStep optimizer_step = make();
  const std::vector<float> before = values(), average = copy(optimizer_step.average(), layout_.floats());
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), infinity}) {
    gradients_.floats()[7] = bad;
    statistic() = bad;  // as the forward pass of such a batch leaves it
    EXPECT_EQ(step(optimizer_step).apply, 0);
    EXPECT_EQ(values(), before);
    EXPECT_EQ(copy(optimizer_step.average(), layout_.floats()), average);
  }
  gradients_.floats()[7] = 0.5f;
  statistic() = 3;
  EXPECT_EQ(step(optimizer_step).applied, 1);
  EXPECT_EQ(statistic(), 3);
  gradients_.floats()[7] = infinity;
  statistic() = 4;
  step(optimizer_step);
  EXPECT_EQ(statistic(), 3) << "those of the last sound step, not of the beginning";
}

TEST_F(OptimizerStepTest, SkipsAStepWhoseStatisticsAreNotFinite) {
  OptimizerStep optimizer_step = make();
  statistic() = infinity;
  EXPECT_EQ(step(optimizer_step).apply, 0);
  for (const float value : values()) ASSERT_EQ(value, 1.0f);
}

TEST_F(OptimizerStepTest, StopsWithAnExplanationAfterARunOfSkips) {
  config_.optimizer.max_skips = 3;
  OptimizerStep optimizer_step = make();
  gradients_.floats()[7] = infinity;
  step(optimizer_step);
  step(optimizer_step);
  gradients_.floats()[7] = 0.5f;
  EXPECT_EQ(step(optimizer_step).skips_in_a_row, 0) << "a sound step ends the run";
  gradients_.floats()[7] = infinity;
  step(optimizer_step);
  step(optimizer_step);
  try {
    step(optimizer_step);
    FAIL() << "it went on";
  } catch (const InputError& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("3 steps in a row"), std::string::npos) << text;
    EXPECT_NE(text.find("optimizer.rate"), std::string::npos) << text;
    EXPECT_EQ(text.find("loss scale"), std::string::npos) << text;
    EXPECT_EQ(text.find("are sound"), std::string::npos) << "it cannot know that: " << text;
  }
}

TEST_F(OptimizerStepTest, ExplainsARunOfSkipsUnderLossScaling) {
  config_.train.precision = Precision::fp16;
  config_.optimizer.max_skips = 2;
  OptimizerStep optimizer_step = make();
  gradients_.floats()[7] = infinity;
  step(optimizer_step);
  try {
    step(optimizer_step);
    FAIL() << "it went on";
  } catch (const InputError& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("loss scale has come down to 16384"), std::string::npos) << text;
    EXPECT_NE(text.find("precision: fp32"), std::string::npos) << text;
  }
}

TEST_F(OptimizerStepTest, ScalesTheLossInFp16AndWhereAskedTo) {
  const auto first_scale = [&](Precision precision, float asked) {
    config_.train.precision = precision;
    config_.optimizer.loss_scale = asked;
    OptimizerStep optimizer_step = make();
    EXPECT_EQ(*optimizer_step.gradient_scale(0.25f).dynamic, optimizer_step.state().loss_scale);
    EXPECT_EQ(optimizer_step.gradient_scale(0.25f).constant, 0.25f);
    return optimizer_step.scales_loss() ? optimizer_step.state().loss_scale : 0;
  };
  EXPECT_EQ(first_scale(Precision::fp32, 0), 0);
  EXPECT_EQ(first_scale(Precision::bf16, 0), 0);
  EXPECT_EQ(first_scale(Precision::fp16, 0), 65536);
  EXPECT_EQ(first_scale(Precision::fp16, 512), 512);
  EXPECT_EQ(first_scale(Precision::fp32, 1024), 1024);
}

TEST_F(OptimizerStepTest, TakesTheSameStepUnderAnyLossScale) {
  const auto after = [&](float scale) {
    fill(values_, 1.0f);
    fill(gradients_, 0.5f * std::max(1.0f, scale));
    config_.optimizer.loss_scale = scale;
    config_.optimizer.clip = 3;
    OptimizerStep optimizer_step = make();
    step(optimizer_step);
    return values();
  };
  for (const OptimizerKind kind : enum_values<OptimizerKind>()) {
    config_.optimizer.kind = kind;
    EXPECT_EQ(after(0), after(65536)) << enum_name(kind);
  }
}

TEST_F(OptimizerStepTest, CorrectsTheMomentsOfAdamWByTheirOwnDecays) {
  config_.optimizer.kind = OptimizerKind::adamw;
  config_.optimizer.beta1 = 0.8f;
  config_.optimizer.beta2 = 0.9f;
  config_.optimizer.epsilon = 0.5f;
  config_.optimizer.clip = 0;
  OptimizerStep optimizer_step = make();
  double w = 1, first = 0, second = 0;
  for (int t = 1; t <= 3; ++t) {
    const double g = 0.5 * t;
    fill(gradients_, static_cast<float>(g));
    step(optimizer_step);
    first = 0.8 * first + 0.2 * g;
    second = 0.9 * second + 0.1 * g * g;
    w -= 0.1 * (first / (1 - std::pow(0.8, t))) / (std::sqrt(second / (1 - std::pow(0.9, t))) + 0.5);
    EXPECT_NEAR(value("conv1.weight"), w, 1e-5) << "step " << t;
  }
}

TEST_F(OptimizerStepTest, AveragesParametersAndStatisticsWithARampedDecay) {
  config_.ema.decay = 0.8f;
  OptimizerStep optimizer_step = make();
  StepState later = optimizer_step.state();
  later.applied = 4;
  optimizer_step.resume(later);
  const size_t at = static_cast<size_t>(&statistic() - values_.floats());
  statistic() = 3.0f;  // statistics move in the forward pass, before the step
  step(optimizer_step);
  const double decay = 0.8 * (1 - std::exp(-0.5));
  EXPECT_NEAR(optimizer_step.average()[0], decay * 1 + (1 - decay) * values_.floats()[0], 1e-6);
  EXPECT_NEAR(optimizer_step.average()[at], decay * 1 + (1 - decay) * 3, 1e-6);
}

TEST_F(OptimizerStepTest, GoesOnAfterAResumeAsIfNothingHadHappened) {
  config_.optimizer.loss_scale = 65536;
  config_.optimizer.loss_scale_growth = 3;
  config_.ema.decay = 0.8f;
  const auto run = [&](int resume_at) {
    fill(values_, 1.0f);
    auto optimizer_step = std::make_unique<OptimizerStep>(make());
    for (int i = 0; i < 8; ++i) {
      if (i == resume_at) {
        std::vector<StateArray> arrays;
        optimizer_step->append_state(arrays);
        std::vector<std::vector<float>> saved;
        for (const auto& array : arrays) saved.push_back(copy(array.values, array.count));
        const StepState state = optimizer_step->state();
        optimizer_step = std::make_unique<OptimizerStep>(make());
        optimizer_step->resume(state);
        arrays.clear();
        optimizer_step->append_state(arrays);
        for (size_t k = 0; k < arrays.size(); ++k)
          std::copy(saved[k].begin(), saved[k].end(), arrays[k].values);
      }
      // Small ones of the other sign let every rule's moments decide.
      fill(gradients_, i % 2 == 0 ? 10000.0f * static_cast<float>(i + 1) : -10.0f);
      if (i == 2 || i == 3) gradients_.floats()[0] = infinity;
      step(*optimizer_step);
    }
    EXPECT_EQ(optimizer_step->state().loss_scale, 65536.0f / 4 * 2);
    EXPECT_EQ(optimizer_step->state().good_steps, 1);
    return values();
  };
  for (const OptimizerKind kind : enum_values<OptimizerKind>()) {
    config_.optimizer.kind = kind;
    const std::vector<float> whole = run(-1);
    for (const int at : {1, 3, 4, 7})
      EXPECT_EQ(run(at), whole) << enum_name(kind) << " resumed before step " << at;
  }
}

}  // namespace
}  // namespace brightnet::testing
