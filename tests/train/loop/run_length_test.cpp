#include "train/loop/run_length.h"

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
  progress.planned = 6;
  RunLength planned(train, 10);
  planned.resume(train, progress);
  EXPECT_EQ(planned.steps(), 6);
  progress.planned = 0;
  train.iterations = 8;
  RunLength asked(train, 24);
  asked.resume(train, progress);
  EXPECT_EQ(asked.steps(), 8);
}

TEST(RunLength, WithAutomaticEpochsAndALimitOfTimeIsLongerThanAnyPlan) {
  TrainOptions train;
  train.batch = 4;
  train.minutes = 60;
  RunLength length(train, 10);
  EXPECT_GT(length.steps(), 1000000);
  Progress progress = at(2, 1, 7);
  length.resume(train, progress);
  EXPECT_GT(length.steps_left(progress), 1000000);
  progress.planned = 30;
  length.resume(train, progress);
  EXPECT_EQ(length.steps(), 30);
}

}  // namespace
}  // namespace brightnet
