#include "train/loop/length.h"

#include <gtest/gtest.h>

namespace brightnet {
namespace {

TrainOptions epochs_of_batches_of_four(int epochs) {
  TrainOptions train;
  train.batch = 4;
  train.epochs = epochs;
  return train;
}

Progress at(uint64_t epoch, uint64_t step, int64_t iteration) {
  Progress progress;
  progress.epoch = epoch;
  progress.step = step;
  progress.iteration = iteration;
  return progress;
}

TEST(RunLength, CountsWholeEpochsOrTheStepsThatWereAskedFor) {
  TrainOptions train = epochs_of_batches_of_four(5);
  const RunLength epochs(train, 10);
  EXPECT_EQ(epochs.steps_per_epoch(), 3) << "the last batch is filled up";
  EXPECT_EQ(epochs.steps(), 15);
  EXPECT_EQ(epochs.epochs({}), 5);
  train.iterations = 7;
  const RunLength iterations(train, 10);
  EXPECT_EQ(iterations.steps(), 7);
  EXPECT_EQ(iterations.epochs({}), 3);
}

TEST(RunLength, KnowsWhenAnEpochAndTheRunAreTrained) {
  TrainOptions train = epochs_of_batches_of_four(2);
  train.iterations = 5;
  const RunLength length(train, 10);
  EXPECT_FALSE(length.epoch_trained(at(0, 2, 2)));
  EXPECT_TRUE(length.epoch_trained(at(0, 3, 3)));
  EXPECT_FALSE(length.run_trained(at(0, 3, 3)));
  EXPECT_EQ(length.steps_left(at(0, 3, 3)), 2);
  EXPECT_TRUE(length.epoch_trained(at(1, 2, 5))) << "an epoch that the run's end cuts short";
  EXPECT_TRUE(length.run_trained(at(1, 2, 5)));
}

TEST(RunLength, KeepsTheEpochsThatAreStillToComeWhenTheDataHaveChanged) {
  const TrainOptions train = epochs_of_batches_of_four(3);
  // Stopped after two of three steps of the second epoch.
  Progress progress = at(1, 2, 5);
  RunLength more(train, 24);
  more.resume(train, progress);
  EXPECT_EQ(progress.step, 2u);
  EXPECT_EQ(more.steps(), 3 + 6 + 6);
  EXPECT_EQ(more.epochs(progress), 3);
  RunLength fewer(train, 4);
  fewer.resume(train, progress);
  EXPECT_EQ(progress.step, 1u) << "the epoch is over by now";
  EXPECT_TRUE(fewer.epoch_trained(progress));
  EXPECT_EQ(fewer.steps(), 5 + 1);
  EXPECT_EQ(fewer.epochs(progress), 3);
}

TEST(RunLength, KeepsStepsThatWerePlannedOrAskedFor) {
  TrainOptions train = epochs_of_batches_of_four(3);
  Progress progress = at(1, 0, 3);
  progress.plans = {{2, 9}, {3, 6}};
  RunLength planned(train, 10);
  planned.resume(train, progress);
  EXPECT_EQ(planned.steps(), 6);
  EXPECT_EQ(planned.bound(), 9) << "a later plan may be as long";
  progress.plans.clear();
  train.iterations = 8;
  RunLength asked(train, 24);
  asked.resume(train, progress);
  EXPECT_EQ(asked.steps(), 8);
}

TEST(RunLength, HasNoBoundWithoutEpochs) {
  TrainOptions train = epochs_of_batches_of_four(1);
  train.epochs = {};
  train.minutes = 60;
  RunLength length(train, 10);
  EXPECT_FALSE(length.bounded());
  Progress progress = at(1, 0, 3);
  progress.plans = {{2, 9}};
  length.resume(train, progress);
  EXPECT_EQ(length.steps(), 9);
  EXPECT_FALSE(length.bounded());
  train.iterations = 7;
  EXPECT_EQ(RunLength(train, 10).bound(), 7);
}

TEST(RunLength, KnowsWhereItsLastPartBegins) {
  const RunLength length(epochs_of_batches_of_four(1), 40);
  EXPECT_EQ(length.last_part(0.3, {}), 7) << "a part of an epoch";
  EXPECT_EQ(length.last_part(0.7f, {}), 3) << "in spite of rounding";
  EXPECT_EQ(length.last_part(0, {}), 10);
  EXPECT_EQ(length.last_part(0.3, {{2, 100}}), 70) << "of the plan";
  EXPECT_EQ(length.last_part(0.3, {{2, 100}, {50, 60}}), 50) << "at once where it should have begun before";
  EXPECT_EQ(length.last_part(0.3, {{2, 100}, {75, 200}}), 70) << "never again mosaics";
  EXPECT_EQ(length.last_part(0.3, {{2, 100}, {70, 200}, {80, 81}}), 70);
}

}  // namespace
}  // namespace brightnet
