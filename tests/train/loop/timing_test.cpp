// What a trainer asks of the device from step to step: its rates, its input sizes, and how many steps
// there are.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "tests/train/small_training.h"

namespace brightnet::testing {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<Backend> watched(SeenWork& seen) {
  return std::make_unique<WatchedBackend>(seen);
}

/// Stops the run after the step in which the loss is computed for the n-th time, counted from 1.
void stop_in_loss(SeenWork& seen, size_t n) {
  seen.before_loss = [&seen, n] {
    if (seen.losses.size() + 1 == n) std::raise(SIGTERM);
  };
}

TEST(TrainerPace, EachStepHasTheScheduledRateOfItsIteration) {
  const SmallRun run;
  const RunConfig config = run.load({"train.epochs=4", "schedule.warmup=1", "schedule.final=0.1"});
  constexpr int64_t steps_per_epoch = 3, steps = 12;
  SeenWork seen;
  SmallTraining whole(config, run.folder() / "whole", false, watched(seen));
  ASSERT_EQ(whole.make().run(Interrupt()), TrainingEnd::finished);
  ASSERT_EQ(seen.rates.size(), size_t{steps});
  const Schedule schedule(config.schedule, config.optimizer.rate, steps_per_epoch, steps);
  for (int64_t i = 0; i < steps; ++i)
    EXPECT_FLOAT_EQ(seen.rates[static_cast<size_t>(i)], schedule.rate(i)) << "step " << i;
  EXPECT_FLOAT_EQ(seen.rates[2], 0.02f) << "the end of the burn-in";
  EXPECT_LT(seen.rates.back(), 0.1f * 0.02f * 1.3f) << "the end of the run";

  // What people read is what the device computed with.
  const auto table = read_metrics_csv(whole.folder.metrics());
  const auto column = static_cast<size_t>(table.column("learning_rate"));
  ASSERT_EQ(table.rows.size(), 4u);
  for (size_t epoch = 0; epoch < 4; ++epoch)
    EXPECT_NEAR(table.rows[epoch][column], seen.rates[3 * epoch + 2], 1e-5 * seen.rates[3 * epoch + 2]);
}

TEST(TrainerPace, AResumedRunGoesOnWithTheRatesOfAWholeOne) {
  const SmallRun run;
  const RunConfig config = run.load({"train.epochs=3", "evaluate.start=3"});
  SeenWork whole, first, rest;
  SmallTraining(config, run.folder() / "whole", false, watched(whole)).make().run(Interrupt());
  {
    SmallTraining training(config, run.folder() / "parts", false, watched(first));
    stop_in_loss(first, 4 * 2 * heads + 1);  // in the fifth step, which is in the second epoch
    ASSERT_EQ(training.make().run(Interrupt()), TrainingEnd::interrupted);
  }
  ASSERT_EQ(first.rates.size(), 5u);
  SmallTraining training(config, run.folder() / "parts", true, watched(rest));
  Trainer trainer = training.make();
  trainer.resume();
  ASSERT_EQ(trainer.run(Interrupt()), TrainingEnd::finished);
  first.rates.insert(first.rates.end(), rest.rates.begin(), rest.rates.end());
  EXPECT_EQ(first.rates, whole.rates);
}

TEST(TrainerPace, AllMicroBatchesOfSizeEveryStepsHaveOneInputSize) {
  const SmallRun run;
  for (const size_t size_every : {1, 2}) {
    for (const size_t parts : {2, 4}) {
      SeenWork seen;
      SmallTraining training(run.load({"train.epochs=4", "train.sizes=[64, 96]", "evaluate.start=4",
                                       "train.size_every=" + std::to_string(size_every),
                                       "train.micro_batch=" + std::to_string(4 / parts)}),
                             run.folder() / "out", false, watched(seen));
      ASSERT_EQ(training.make().run(Interrupt()), TrainingEnd::finished);
      const size_t step = heads * parts, block = size_every * step;
      ASSERT_EQ(seen.losses.size(), 12 * step);
      std::set<int> sizes;
      for (size_t i = 0; i < seen.losses.size(); ++i) {
        sizes.insert(seen.losses[i].input_width);
        ASSERT_EQ(seen.losses[i].input_width, seen.losses[i / block * block].input_width)
            << "step " << i / step << ", size_every " << size_every << ", " << parts << " micro-batches";
      }
      EXPECT_EQ(sizes, (std::set<int>{64, 96}));
    }
  }
}

/// Every step of a run takes at least this long.
constexpr std::chrono::milliseconds step_takes{16};

/// Three steps of two micro-batches an epoch.
void slow_down(SeenWork& seen) {
  seen.before_loss = [] { std::this_thread::sleep_for(step_takes / (2 * heads)); };
}

TEST(TrainerPace, PlansAsManyEpochsAsFitIntoItsMinutes) {
  const SmallRun run;
  const RunConfig config = run.load({"train.epochs=100000", "train.minutes=1", "evaluate.start=100000"});
  SeenWork seen;
  SmallTraining training(config, run.folder() / "out", false, watched(seen));
  slow_down(seen);
  seen.before_loss = [&seen, wait = seen.before_loss] {
    wait();
    // The first epoch tells the pace; nobody waits for the others.
    if (seen.losses.size() == 3 * 2 * heads) std::raise(SIGTERM);
  };
  Trainer trainer = training.make();
  ASSERT_EQ(trainer.run(Interrupt()), TrainingEnd::interrupted);
  const int64_t planned = trainer.progress().planned;
  ASSERT_EQ(planned % 3, 0) << "whole epochs";
  const double after_the_first = static_cast<double>(planned / 3 - 1);

  // Not more than fit when a step takes no longer than it must, and not much less than at the pace that the
  // first epoch had: on a slow machine both are few.
  const double shortest_epoch = 3 * std::chrono::duration<double>(step_takes).count();
  EXPECT_LE(after_the_first, 60 / shortest_epoch);
  const auto table = read_metrics_csv(training.folder.metrics());
  ASSERT_EQ(table.rows.size(), 1u);
  const double epoch = 12 / table.rows[0][static_cast<size_t>(table.column("images_per_s"))];
  EXPECT_GE(after_the_first, 60 / epoch / 6);

  // The plan is saved, and the rates of a resumed run are those of a run of that length.
  SeenWork rest;
  SmallTraining again(config, training.folder.path(), true, watched(rest));
  Trainer resumed = again.make();
  resumed.resume();
  EXPECT_EQ(resumed.progress().planned, planned);
  stop_in_loss(rest, 1);
  const int64_t done = resumed.progress().iteration;
  ASSERT_EQ(resumed.run(Interrupt()), TrainingEnd::interrupted);
  ASSERT_EQ(rest.rates.size(), 1u);
  EXPECT_FLOAT_EQ(rest.rates[0], Schedule(config.schedule, config.optimizer.rate, 3, planned).rate(done));
}

TEST(TrainerPace, EndsWithTheLastStepOfItsPlan) {
  const SmallRun run;
  SeenWork seen;
  slow_down(seen);
  SmallTraining training(run.load({"train.epochs=100000", "train.minutes=0.005"}), run.folder() / "out",
                         false, watched(seen));
  Trainer trainer = training.make();
  EXPECT_EQ(trainer.run(Interrupt()), TrainingEnd::finished);
  const Progress& progress = trainer.progress();
  EXPECT_GE(progress.epoch, 2u) << "one that tells the pace, and at least one more";
  EXPECT_LE(progress.epoch, 1 + 300 / 48u) << "0.3 seconds of at least 48 ms each";
  EXPECT_EQ(progress.iteration, progress.planned);
  EXPECT_EQ(seen.rates.size(), static_cast<size_t>(progress.planned));
  EXPECT_EQ(read_metrics_csv(training.folder.metrics()).rows.size(), progress.epoch);

  SmallTraining again(training.config, training.folder.path(), true);
  Trainer resumed = again.make();
  resumed.resume();
  EXPECT_TRUE(resumed.over()) << "the plan is part of the saved state";
  EXPECT_EQ(resumed.run(Interrupt()), TrainingEnd::finished);
  EXPECT_EQ(resumed.progress().iteration, progress.planned);
}

}  // namespace
}  // namespace brightnet::testing
