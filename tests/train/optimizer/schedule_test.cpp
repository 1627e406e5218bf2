#include "train/optimizer/schedule.h"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

namespace brightnet {
namespace {

ScheduleOptions options(ScheduleKind kind, float warmup = 0) {
  ScheduleOptions o;
  o.kind = kind;
  o.warmup = warmup;
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

}  // namespace
}  // namespace brightnet
