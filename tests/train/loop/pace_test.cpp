#include "train/loop/pace.h"

#include <gtest/gtest.h>

namespace brightnet {
namespace {

/// A run of four steps an epoch whose clock the test moves.
class PaceTest : public ::testing::Test {
 protected:
  PaceTest() { pace_.begin_run(); }
  void step(double seconds) {
    now_ += seconds;
    ++progress_.step;
    pace_.step_done(seconds, progress_);
  }

  double now_ = 100;
  Pace pace_{4, [this] { return now_; }};
  Progress progress_;
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

TEST_F(PaceTest, FitsEpochsIntoTheMinutesByThePaceOfTheFirstEpochsSecondHalf) {
  for (const double seconds : {10, 10, 1, 1}) step(seconds);
  const double began = now_;
  now_ += 10;
  pace_.evaluation_done(began);
  // Of 600 s 93 % are planned and 32 are gone; an epoch takes 4 s and half an evaluation.
  EXPECT_EQ(pace_.epochs_within(10, 2), 58);
  EXPECT_EQ(pace_.epochs_within(0.1f, 2), 0) << "no time is left";
}

TEST_F(PaceTest, FitsEpochsByTheLastStepsWhereTheFirstEpochWasNotSeen) {
  progress_.epoch = 3;
  for (int i = 0; i < 4; ++i) step(2);
  // Of 60 s 93 % are planned and 8 are gone; an epoch takes 8 s.
  EXPECT_EQ(pace_.epochs_within(1, 1), 5);
}

}  // namespace
}  // namespace brightnet
