#include "train/optimizer/schedule.h"

#include <cmath>
#include <numbers>
#include <utility>

#include <gtest/gtest.h>

namespace brightnet {
namespace {

ScheduleOptions options(ScheduleKind kind, float warmup = 0) {
  ScheduleOptions o;
  o.kind = kind;
  o.warmup = warmup;
  o.power = 4;
  return o;
}

TEST(Schedule, BurnsInWithTheFourthPower) {
  const Schedule schedule(options(ScheduleKind::constant, 2), 0.5f, 10, 100);
  EXPECT_EQ(schedule.warmup(), 20);
  EXPECT_FLOAT_EQ(schedule.rate(0), 0.5f / 160000);
  EXPECT_FLOAT_EQ(schedule.rate(9), 0.5f / 16);
  EXPECT_FLOAT_EQ(schedule.rate(19), 0.5f);
  EXPECT_FLOAT_EQ(schedule.rate(20), 0.5f);
  EXPECT_FLOAT_EQ(schedule.rate(99), 0.5f);
}

TEST(Schedule, FollowsTheCosineFromTheBurnInToTheEnd) {
  ScheduleOptions o = options(ScheduleKind::cosine, 1);
  o.final = 0.1f;
  const Schedule schedule(o, 2.0f, 10, 110);
  EXPECT_FLOAT_EQ(schedule.rate(10), 2.0f);
  EXPECT_NEAR(schedule.rate(60), 2.0 * (0.1 + 0.9 * 0.5), 1e-6);
  EXPECT_NEAR(schedule.rate(35), 2.0 * (0.1 + 0.9 * 0.5 * (1 + std::cos(std::numbers::pi / 4))), 1e-6);
  EXPECT_FLOAT_EQ(schedule.rate(110), 0.2f);
  EXPECT_FLOAT_EQ(schedule.rate(1000), 0.2f);
}

TEST(Schedule, FallsLinearlyToItsFinalFraction) {
  ScheduleOptions o = options(ScheduleKind::linear);
  o.final = 0.5f;
  const Schedule schedule(o, 1.0f, 1, 100);
  EXPECT_FLOAT_EQ(schedule.rate(0), 1.0f);
  EXPECT_FLOAT_EQ(schedule.rate(50), 0.75f);
  EXPECT_FLOAT_EQ(schedule.rate(100), 0.5f);
}

TEST(Schedule, MultipliesTheScalesOfTheStepsReached) {
  ScheduleOptions o = options(ScheduleKind::steps);
  o.steps = {2, 3.5f};
  o.scales = {0.1f, 0.5f};
  const Schedule schedule(o, 1.0f, 10, 100);
  EXPECT_FLOAT_EQ(schedule.rate(19), 1.0f);
  EXPECT_FLOAT_EQ(schedule.rate(20), 0.1f);
  EXPECT_FLOAT_EQ(schedule.rate(34), 0.1f);
  EXPECT_FLOAT_EQ(schedule.rate(35), 0.05f);
}

TEST(Schedule, FallsAtEightyAndNinetyPercentUnlessToldOtherwise) {
  const Schedule schedule(options(ScheduleKind::steps), 1.0f, 10, 1000);
  EXPECT_FLOAT_EQ(schedule.rate(799), 1.0f);
  EXPECT_FLOAT_EQ(schedule.rate(800), 0.1f);
  EXPECT_FLOAT_EQ(schedule.rate(900), 0.01f);
}

TEST(Schedule, CountsInIterationsWhenAsked) {
  ScheduleOptions o = options(ScheduleKind::constant, 4);
  o.unit = ScheduleUnit::iterations;
  o.power = 1;
  const Schedule schedule(o, 1.0f, 10, 100);
  EXPECT_FLOAT_EQ(schedule.rate(0), 0.25f);
  EXPECT_FLOAT_EQ(schedule.rate(3), 1.0f);
}

TEST(Schedule, CutsABurnInThatIsLongerThanTheRun) {
  const Schedule schedule(options(ScheduleKind::cosine, 50), 1.0f, 10, 20);
  EXPECT_EQ(schedule.warmup(), 20);
  EXPECT_FLOAT_EQ(schedule.rate(19), 1.0f);
}

/// The rates of a run whose length is planned anew before these steps.
std::vector<float> rates_of(Schedule schedule, const std::vector<std::pair<int64_t, int64_t>>& plans,
                            double warmup_limit = 1) {
  std::vector<float> rates;
  for (const auto& [step, total] : plans) {
    while (static_cast<int64_t>(rates.size()) < step)
      rates.push_back(schedule.rate(static_cast<int64_t>(rates.size())));
    schedule.change_total(step, total, warmup_limit);
  }
  while (static_cast<int64_t>(rates.size()) < plans.back().second)
    rates.push_back(schedule.rate(static_cast<int64_t>(rates.size())));
  return rates;
}

TEST(Schedule, IsContinuousWhereTheRunBecomesShorter) {
  for (const ScheduleKind kind : {ScheduleKind::cosine, ScheduleKind::linear, ScheduleKind::steps}) {
    ScheduleOptions o = options(kind, 2);
    o.final = 0.01f;
    const auto rates = rates_of(Schedule(o, 1.0f, 10, 100'000), {{25, 900}, {400, 800}, {600, 700}});
    ASSERT_EQ(rates.size(), 700u);
    for (size_t i = 21; i < rates.size(); ++i) {
      ASSERT_LE(rates[i], rates[i - 1]) << enum_name(kind) << ", step " << i;
      if (kind != ScheduleKind::steps) {
        EXPECT_LT(rates[i - 1] - rates[i], 0.02) << "no jump in step " << i;
      }
    }
    EXPECT_NEAR(rates.back(), 0.01, 5e-3) << enum_name(kind);
  }
}

TEST(Schedule, ReturnsToTheDecayOfALongerRunWhenItWasAheadOfIt) {
  ScheduleOptions o = options(ScheduleKind::linear);
  o.final = 0;
  // Ended at once by the plan of a machine that had stalled; then there is time for 1000 steps after all.
  const auto rates = rates_of(Schedule(o, 1.0f, 10, 500), {{199, 200}, {200, 1000}});
  EXPECT_FLOAT_EQ(rates[198], 1 - 198 / 500.0f);
  EXPECT_FLOAT_EQ(rates[200], 0.8f);
  EXPECT_FLOAT_EQ(rates[600], 0.4f);
}

TEST(Schedule, SpreadsWhatIsLeftOfTheDecayOverTheStepsThatAreLeft) {
  ScheduleOptions o = options(ScheduleKind::linear);
  o.final = 0;
  const auto rates = rates_of(Schedule(o, 1.0f, 10, 400), {{200, 250}});
  EXPECT_FLOAT_EQ(rates[200], 0.5f);
  EXPECT_FLOAT_EQ(rates[225], 0.25f);
}

TEST(Schedule, IsTheSameWhenThePlansAreReplayed) {
  const ScheduleOptions o = options(ScheduleKind::cosine, 3);
  const std::vector<std::pair<int64_t, int64_t>> plans{{7, 333}, {31, 417}, {200, 379}};
  Schedule replayed(o, 0.1f, 10, 1000);
  for (const auto& [step, total] : plans) replayed.change_total(step, total);
  const auto rates = rates_of(Schedule(o, 0.1f, 10, 1000), plans);
  for (size_t i = 200; i < rates.size(); ++i) EXPECT_EQ(replayed.rate(static_cast<int64_t>(i)), rates[i]);
}

TEST(Schedule, KeepsItsWarmUpWithinTheLimitOfAPlanWithoutAJump) {
  ScheduleOptions o = options(ScheduleKind::cosine, 3);
  o.power = 1;
  Schedule whole(o, 1.0f, 1000, 100'000);
  EXPECT_EQ(whole.warmup(), 3000);
  const auto rates = rates_of(whole, {{30, 500}}, 0.1);
  EXPECT_FLOAT_EQ(rates[29], 0.01f);
  EXPECT_NEAR(rates[30], 0.03, 1e-6) << "a fiftieth a step from now on";
  EXPECT_NEAR(rates[54], 0.51, 1e-6);
  EXPECT_NEAR(rates[79], 1, 0.011);
  EXPECT_LT(rates[100], rates[80]) << "the decay follows";
  // A longer plan slows it down again.
  const auto longer = rates_of(whole, {{30, 500}, {55, 1000}}, 0.1);
  EXPECT_NEAR(longer[55], 0.52, 1e-6);
  EXPECT_NEAR(longer[79], 0.76, 1e-6);
}

TEST(Schedule, DropsAtEightyAndNinetyPercentOfThePlanButOnlyOnce) {
  const ScheduleOptions o = options(ScheduleKind::steps);
  const auto rates = rates_of(Schedule(o, 1.0f, 10, 1000), {{100, 500}, {410, 600}, {590, 1000}});
  EXPECT_FLOAT_EQ(rates[399], 1);
  EXPECT_FLOAT_EQ(rates[400], 0.1f);
  EXPECT_FLOAT_EQ(rates[539], 0.1f) << "nine tenths of 600";
  EXPECT_FLOAT_EQ(rates[540], 0.01f);
  EXPECT_FLOAT_EQ(rates[999], 0.01f);
}

TEST(Schedule, DropsAtGivenStepsHoweverLongThePlans) {
  for (const bool two : {false, true}) {
    ScheduleOptions o = options(ScheduleKind::steps);
    o.steps = two ? std::vector<float>{30, 40} : std::vector<float>{30};
    o.scales = two ? std::vector<float>{0.1f, 0.5f} : std::vector<float>{0.1f};
    const auto rates = rates_of(Schedule(o, 1.0f, 10, 1000), {{100, 500}, {200, 600}});
    EXPECT_FLOAT_EQ(rates[299], 1);
    EXPECT_FLOAT_EQ(rates[300], 0.1f);
    EXPECT_FLOAT_EQ(rates[399], 0.1f);
    EXPECT_FLOAT_EQ(rates[400], two ? 0.05f : 0.1f);
    EXPECT_FLOAT_EQ(rates[599], two ? 0.05f : 0.1f);
  }
}

}  // namespace
}  // namespace brightnet
