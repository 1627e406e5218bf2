#include "train/loop/training_plan.h"

#include <gtest/gtest.h>

namespace brightnet {
namespace {

/// A run of three steps an epoch, whose warm-up has so many epochs of its hundred.
struct RunOfAHundredEpochs {
  explicit RunOfAHundredEpochs(float warmup) {
    config.schedule.warmup = warmup;
    config.optimizer.rate = 0.01f;
    before.batch = 4;
    before.epochs = 100;
  }
  /// Its warm-up, in steps, when it goes on after this step with so many epochs.
  int64_t warmup(int64_t step, int epochs) {
    config.train = before;
    config.train.epochs = epochs;
    config.train.minutes = 0;
    progress.epoch = step / 3;
    progress.step = step % 3;
    progress.iteration = step;
    return warmup_of_new_length(config, before, progress, 12);
  }

  RunConfig config;
  TrainOptions before;
  Progress progress;
};

TEST(WarmupOfNewLength, IsATenthOfAShorterRunOrWhatHadPassed) {
  RunOfAHundredEpochs run(10);
  EXPECT_EQ(run.warmup(0, 20), 6);
  EXPECT_EQ(run.warmup(3, 20), 6);
  EXPECT_EQ(run.warmup(6, 20), 6);
  EXPECT_EQ(run.warmup(12, 20), 12);
  EXPECT_EQ(run.warmup(12, 90), 27);
}

TEST(WarmupOfNewLength, StaysAsItIsInALongerRunAndOnceItIsOver) {
  RunOfAHundredEpochs run(10);
  EXPECT_EQ(run.warmup(6, 200), 30);
  EXPECT_EQ(run.warmup(300, 200), 30);
  EXPECT_EQ(run.warmup(60, 50), 30);
  EXPECT_EQ(run.warmup(60, 10), 30) << "all of it is done";
}

TEST(WarmupOfNewLength, KeepsItsPartOfTheRunWhereItWasSetToMoreThanATenth) {
  EXPECT_EQ(RunOfAHundredEpochs(40).warmup(6, 50), 60);
  EXPECT_EQ(RunOfAHundredEpochs(100).warmup(6, 50), 150) << "all of it, which is warned of";
  EXPECT_EQ(RunOfAHundredEpochs(40).warmup(120, 400), 120);
  EXPECT_EQ(RunOfAHundredEpochs(140).warmup(300, 400), 300) << "as much as passed before it ended";
}

// The plan of 60 steps, after the second, has cut it to six: what was left of it took as many.
TEST(WarmupOfNewLength, IsThatOfThePlansWhereARunOfMinutesIsGivenALength) {
  RunOfAHundredEpochs run(20);
  run.before.minutes = 1;
  run.before.epochs = {};
  run.progress.plans = {{2, 60}};
  run.progress.times.used = 50;
  for (const int epochs : {21, 24, 40, 1000}) EXPECT_EQ(run.warmup(60, epochs), 8) << epochs;
  EXPECT_EQ(run.warmup(4, 30), 9) << "a tenth: it was chosen for a guess of the length";
}

}  // namespace
}  // namespace brightnet
