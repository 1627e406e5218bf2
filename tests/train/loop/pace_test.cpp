#include "train/loop/pace.h"

#include <gtest/gtest.h>

namespace brightnet {
namespace {

/// A run whose clock the test moves.
class PaceTest : public ::testing::Test {
 protected:
  PaceTest() { pace_.begin_run(); }
  void step(double seconds) {
    now_ += seconds;
    pace_.step_done(seconds);
  }

  double now_ = 100;
  Pace pace_{[this] { return now_; }};
};

TEST_F(PaceTest, KnowsNothingBeforeTheFirstStep) {
  EXPECT_LT(pace_.seconds_of(10), 0);
  EXPECT_EQ(pace_.seconds_of(0), 0);
}

TEST_F(PaceTest, ExpectsWhatTheLastStepsTook) {
  step(2);
  EXPECT_EQ(pace_.seconds_of(10), 20);
  step(4);
  EXPECT_DOUBLE_EQ(pace_.seconds_of(10), 21) << "an average that follows slowly";
}

TEST_F(PaceTest, ExpectsWhatStepsTookBeforeTheRunWasResumed) {
  pace_.expect(3);
  EXPECT_EQ(pace_.seconds_of(2), 6);
}

TEST_F(PaceTest, SavesWhenTheLastStateIsOld) {
  now_ += 29;
  EXPECT_FALSE(pace_.save_due(30));
  now_ += 1;
  EXPECT_TRUE(pace_.save_due(30));
  EXPECT_EQ(pace_.seconds_since_save(), 30);
  pace_.save_done(now_);
  EXPECT_FALSE(pace_.save_due(30));
}

TEST_F(PaceTest, SpendsNoMoreThanAFiftiethOfTheTimeOnSaving) {
  const double began = now_;
  now_ += 2;
  pace_.save_done(began);
  now_ += 99;
  EXPECT_FALSE(pace_.save_due(30));
  now_ += 1;
  EXPECT_TRUE(pace_.save_due(30));
}

TEST_F(PaceTest, ForgetsStepsOfLongAgo) {
  pace_.look_back(10, 10);
  for (int i = 0; i < 2; ++i) step(100);
  for (int i = 0; i < 20; ++i) step(3);
  EXPECT_NEAR(pace_.recent_step_seconds(), 3, 1e-9) << "the first two are unusual";
  for (int i = 0; i < 60; ++i) step(1);
  EXPECT_NEAR(pace_.recent_step_seconds(), 1, 0.05);
  // Steps of 20 s are longer than it looks back, but one alone says little.
  step(20);
  EXPECT_LT(pace_.recent_step_seconds(), 4);
}

TEST_F(PaceTest, CountsWhatComesBetweenStepsButNoSavesAndEvaluations) {
  for (int i = 0; i < 40; ++i) {
    step(1);
    now_ += 0.5;
    const double began = now_;
    now_ += 7;
    if (i % 2 == 0) {
      pace_.save_done(began);
    } else {
      pace_.pause_done(began, i % 4 == 1);
    }
  }
  EXPECT_NEAR(pace_.recent_step_seconds(), 1.25, 0.05) << "half a second after every second step";
  EXPECT_EQ(pace_.save_seconds(), 7);
  EXPECT_EQ(pace_.evaluation_seconds(), 7);
  EXPECT_EQ(pace_.epoch_end_seconds(), 7);
}

TEST_F(PaceTest, DoesNotCountASaveTwiceThatEndsAnEpoch) {
  step(1);
  const double began = now_;
  now_ += 2;
  pace_.save_done(now_ - 2);
  now_ += 3;
  pace_.pause_done(began, true);
  EXPECT_EQ(pace_.evaluation_seconds(), 3);
}

TEST_F(PaceTest, ExpectsSlowerEvaluationsOnASlowerMachineButNoFasterOnes) {
  pace_.look_back(2, 1);
  for (int i = 0; i < 20; ++i) step(1);
  now_ += 5;
  pace_.pause_done(now_ - 5, true);
  for (int i = 0; i < 50; ++i) step(2);
  EXPECT_NEAR(pace_.evaluation_seconds(), 10, 0.01);
  for (int i = 0; i < 50; ++i) step(0.5);
  EXPECT_EQ(pace_.evaluation_seconds(), 5);
}

TEST_F(PaceTest, CountsTheSecondsOfAllPartsOfARun) {
  now_ += 30;
  EXPECT_EQ(pace_.times().used, 30);
  now_ += 4;
  pace_.pause_done(now_ - 4, true);
  now_ += 6;
  const RunTimes saved = pace_.times();
  EXPECT_EQ(saved.used, 40);
  EXPECT_EQ(saved.evaluation, 4);
  EXPECT_EQ(saved.evaluated_at, 34);
  now_ += 1000;
  Pace rest([this] { return now_; });
  rest.begin_run(saved);
  now_ += 2;
  EXPECT_EQ(rest.times().used, 42) << "without the time while it was stopped";
  EXPECT_EQ(rest.times().evaluated_at, 34);
  EXPECT_EQ(rest.evaluation_seconds(), 4);
}

}  // namespace
}  // namespace brightnet
