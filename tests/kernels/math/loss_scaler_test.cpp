// Whether a step is applied, how far its gradient is scaled down, and where the loss scale goes.
#include "kernels/math/loss_scaler.h"

#include <limits>

#include <gtest/gtest.h>

namespace brightnet {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

StepPolicy scaling(int growth_interval = 2000) {
  return {.scales_loss = true, .growth_interval = growth_interval};
}

StepState scaled(float loss_scale) {
  StepState state;
  state.loss_scale = loss_scale;
  return state;
}

TEST(LossScaler, HalvesOnEveryGradientThatIsNotFiniteAndSkipsTheStep) {
  StepState state = scaled(first_loss_scale);
  int skipped = 0;
  for (const double bad : {infinity, nan, -nan}) {
    decide_step(scaling(), bad, 1.0, state);
    EXPECT_EQ(state.apply, 0);
    EXPECT_EQ(state.skipped, ++skipped);
    EXPECT_EQ(state.skips_in_a_row, skipped);
    EXPECT_EQ(state.loss_scale, std::ldexp(first_loss_scale, -skipped));
  }
  EXPECT_EQ(state.applied, 0);
  decide_step(scaling(), 4.0, 1.0, state);
  EXPECT_EQ(state.apply, 1);
  EXPECT_EQ(state.applied, 1);
  EXPECT_EQ(state.skipped, 3);
  EXPECT_EQ(state.skips_in_a_row, 0) << "a sound step ends the run of skips";
  EXPECT_EQ(state.loss_scale, first_loss_scale / 8);
}

TEST(LossScaler, SkipsAStepWhoseStatisticsAreNotFinite) {
  for (const double bad : {infinity, nan}) {
    StepState state = scaled(8);
    decide_step(scaling(), 1.0, bad, state);
    EXPECT_EQ(state.apply, 0);
    EXPECT_EQ(state.loss_scale, 4);
  }
}

TEST(LossScaler, DoublesAfterTwoThousandGoodStepsInARow) {
  StepState state = scaled(first_loss_scale);
  for (int step = 1; step <= 1999; ++step) decide_step(scaling(), 1.0, 0, state);
  EXPECT_EQ(state.loss_scale, first_loss_scale);
  decide_step(scaling(), infinity, 0, state);
  for (int step = 1; step <= 1999; ++step) decide_step(scaling(), 1.0, 0, state);
  EXPECT_EQ(state.loss_scale, first_loss_scale / 2) << "an overflow makes the count begin anew";
  decide_step(scaling(), 1.0, 0, state);
  EXPECT_EQ(state.loss_scale, first_loss_scale);
  EXPECT_EQ(state.gradient_factor, 2 / first_loss_scale) << "this step's gradient has the old scale";
  for (int step = 1; step <= 2000; ++step) decide_step(scaling(), 1.0, 0, state);
  EXPECT_EQ(state.loss_scale, 2 * first_loss_scale);
}

TEST(LossScaler, StaysWithinItsLimits) {
  StepState state = scaled(first_loss_scale);
  for (int step = 0; step < 100; ++step) decide_step(scaling(), nan, 0, state);
  EXPECT_EQ(state.loss_scale, smallest_loss_scale);
  for (int step = 0; step < 100; ++step) decide_step(scaling(1), 1.0, 0, state);
  EXPECT_EQ(state.loss_scale, largest_loss_scale);
}

TEST(LossScaler, LeavesTheScaleAloneWhereNoneIsAskedFor) {
  StepState state;
  StepPolicy policy{.growth_interval = 1};
  for (const double squares : {1.0, infinity, 2.0, nan}) decide_step(policy, squares, 0, state);
  EXPECT_EQ(state.loss_scale, 1);
  EXPECT_EQ(state.applied, 2);
  EXPECT_EQ(state.skipped, 2);
}

TEST(LossScaler, UndoesTheScaleInNormAndGradient) {
  // Σ g² of a gradient of norm 5 under a scale of 64.
  StepState state = scaled(64);
  decide_step(scaling(), 25.0 * 64 * 64, 0, state);
  EXPECT_EQ(state.norm, 5);
  EXPECT_EQ(state.gradient_factor, 1.0f / 64);
  StepPolicy clipping = scaling();
  clipping.clip = 2;
  decide_step(clipping, 25.0 * 64 * 64, 0, state);
  EXPECT_EQ(state.norm, 5) << "the norm is that before clipping";
  EXPECT_FLOAT_EQ(state.gradient_factor, 0.4f / 64);
  clipping.clip = 5;
  decide_step(clipping, 25.0 * 64 * 64, 0, state);
  EXPECT_EQ(state.gradient_factor, 1.0f / 64);
}

TEST(LossScaler, CountsAppliedStepsForAdamAndTheAverage) {
  StepState state;
  const StepPolicy policy{.beta1 = 0.9f, .beta2 = 0.999f, .ema_decay = 0.8f, .ema_ramp = 10};
  decide_step(policy, 1.0, 0, state);
  EXPECT_NEAR(state.first_correction, 1 / (1 - 0.9), 1e-5);
  EXPECT_NEAR(state.second_correction, 1 / (1 - 0.999), 2e-2);
  decide_step(policy, nan, 0, state);
  decide_step(policy, 1.0, 0, state);
  EXPECT_NEAR(state.first_correction, 1 / (1 - 0.81), 1e-5) << "a skipped step is none";
  EXPECT_NEAR(state.ema_decay, 0.8 * (1 - std::exp(-0.2)), 1e-6);
}

TEST(LossScaler, ForgetsTheLossesOfASkippedStep) {
  StepState state;
  const StepPolicy policy{.images = 8};
  state.pending = {.box = 1, .objectness = 2, .classes = 3, .iou = 4, .assigned = 5};
  decide_step(policy, 1.0, 0, state);
  EXPECT_EQ(state.pending.box, 0);
  state.pending = {.box = nan, .objectness = 1, .classes = 1, .iou = 1, .assigned = 1};
  decide_step(policy, nan, 0, state);
  EXPECT_EQ(state.pending.objectness, 0);
  state.pending = {.box = 10, .objectness = 20, .classes = 30, .iou = 40, .assigned = 50};
  decide_step(policy, 1.0, 0, state);
  EXPECT_EQ(state.sums.box, 11);
  EXPECT_EQ(state.sums.objectness, 22);
  EXPECT_EQ(state.sums.classes, 33);
  EXPECT_EQ(state.sums.iou, 44);
  EXPECT_EQ(state.sums.assigned, 55);
  EXPECT_EQ(state.sums.images, 16);
}

TEST(LossScaler, AddsUpTheNormsAndCountsTheClippedSteps) {
  StepState state = scaled(4);
  const StepPolicy policy{.clip = 2, .scales_loss = true};
  decide_step(policy, 25.0 * 16, 0, state);  // norm 5: clipped
  decide_step(policy, 4.0 * 16, 0, state);   // norm 2: just not
  decide_step(policy, nan, 0, state);        // skipped: no norm; the scale is 2 now
  decide_step(policy, 1.0 * 4, 0, state);    // norm 1
  EXPECT_EQ(state.sums.steps, 3);
  EXPECT_EQ(state.sums.clipped, 1);
  EXPECT_EQ(state.sums.norm, 8);
}

TEST(RampedDecay, ForgetsEarlyStepsSoon) {
  EXPECT_NEAR(ramped_decay(0.999f, 100, 1), 0.999 * (1 - std::exp(-0.01)), 1e-6);
  EXPECT_NEAR(ramped_decay(0.999f, 100, 100000), 0.999, 1e-6);
  EXPECT_EQ(ramped_decay(0.5f, 0, 1), 0.5f);
}

TEST(LossTotals, TakeOffWhatWasThereBefore) {
  LossTotals totals{11, 22, 33, 44, 55, 66, 77, 88, 99, 110};
  add_totals(totals, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, -1);
  EXPECT_EQ(totals.box, 10);
  EXPECT_EQ(totals.objectness, 20);
  EXPECT_EQ(totals.classes, 30);
  EXPECT_EQ(totals.iou, 40);
  EXPECT_EQ(totals.assigned, 50);
  EXPECT_EQ(totals.images, 60);
  EXPECT_EQ(totals.steps, 70);
  EXPECT_EQ(totals.clipped, 80);
  EXPECT_EQ(totals.norm, 90);
  EXPECT_EQ(totals.distillation, 100);
}

}  // namespace
}  // namespace brightnet
