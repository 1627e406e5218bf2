// How often a run with a time limit evaluates, and that it keeps its limit where evaluations take long.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/train/loop/simulated_run.h"
#include "train/loop/time_plan.h"

namespace brightnet::testing {
namespace {

TEST(TimePlan, EvaluatesForATwelfthOfTheTimeButFiveTimes) {
  for (const double seconds : {0.5, 2.0, 4.0, 9.0}) {
    for (const int64_t images : {160, 1600, 100'000}) {
      SimulatedMachine machine;
      machine.evaluation = [=](double) { return seconds; };
      SimulatedRun run({.images = images}, machine);
      run.run();
      EXPECT_LE(run.evaluating(), 0.1) << summary_of(run);
      EXPECT_GE(run.evaluations(), 5) << summary_of(run);
    }
  }
  for (const double seconds : {18, 26}) {
    SimulatedMachine machine;
    machine.evaluation = [=](double) { return seconds; };
    SimulatedRun run({}, machine);
    run.run();
    EXPECT_GE(run.evaluations(), 4) << summary_of(run);
    EXPECT_LE(run.evaluations(), 6) << summary_of(run);
  }
  SimulatedRun rare({}, {.evaluation = [](double) { return 60.0; }});
  rare.run();
  EXPECT_LE(rare.evaluating(), 0.31) << "five would take half of the time: " << summary_of(rare);
}

/// A machine that trains 20 images/s and evaluates an image in this part of the time.
SimulatedMachine with_validation(int64_t images, double part, int batch) {
  SimulatedMachine machine;
  machine.step = [=](double, int64_t) { return batch / 20.0; };
  machine.evaluation = [=](double) { return part * static_cast<double>(images) / 20; };
  return machine;
}

TEST(TimePlan, SpendsItsMinutesWithALargeValidationSplit) {
  struct {
    float minutes;
    int64_t val_images;
  } cases[] = {{8, 5000}, {1, 800}, {2, 1000}, {8, 2500}, {8, 4000}, {60, 20000}, {8, 1000}};
  for (const auto& [minutes, val_images] : cases) {
    for (const double part : {0.2, 0.33, 0.5, 0.8}) {
      for (const int64_t images : {160, 2000, 100'000}) {
        expect_kept({.minutes = minutes, .images = images, .val_images = val_images, .batch = 8},
                    with_validation(val_images, part, 8),
                    fmt::format("{:g} minutes, {} validation images at {:g}, {} images", minutes, val_images,
                                part, images));
      }
    }
  }
}

TEST(TimePlan, SaysWhenEvaluatingTakesMuchOfTheTime) {
  const auto described = [](float minutes, int64_t val_images) {
    SimulatedRun run({.minutes = minutes, .val_images = val_images, .batch = 8},
                     with_validation(val_images, 0.5, 8));
    run.run();
    return run.evaluation_described();
  };
  EXPECT_EQ(
      described(8, 5000),
      "Evaluating the 5000 validation images takes about 125 s, 26 % of train.minutes = 8: few evaluations fit. "
      "To train for more of the time, validate on fewer images (data.val) or raise train.minutes.");
  EXPECT_EQ(
      described(1, 5000),
      "Evaluating the 5000 validation images takes about 125 s, longer than train.minutes = 1 allows: the run "
      "ends after a few steps, and takes about 2.2 minutes. To train for more of the time, validate on fewer "
      "images (data.val) or raise train.minutes.");
  EXPECT_EQ(described(8, 1000), "");
}

TEST(TimePlan, EvaluatesAHundredTimesAtMost) {
  SimulatedRun run({.minutes = 600}, {.evaluation = [](double) { return 1.0; }});
  run.run();
  EXPECT_GE(run.evaluations(), 90) << summary_of(run);
  EXPECT_LE(run.evaluations(), 105) << summary_of(run);
}

TEST(TimePlan, EvaluatesAsOftenAsItWasTold) {
  SimulatedRun run({.every = 4}, {.evaluation = [](double) { return 9.0; }});
  run.run();
  const auto epochs = static_cast<int>(run.progress().epoch);
  EXPECT_EQ(run.evaluations(), (epochs - 1) / 4 + 1 + ((epochs - 1) % 4 > 0 ? 1 : 0)) << summary_of(run);
}

TEST(TimePlan, EvaluatesNoEpochBeforeTheFirstThatItWasTold) {
  for (const int start : {3, 6}) {
    SimulatedRun run({.images = 160, .start = start}, {});
    run.run();
    EXPECT_GE(run.first_evaluated(), start) << summary_of(run);
  }
}

}  // namespace
}  // namespace brightnet::testing
