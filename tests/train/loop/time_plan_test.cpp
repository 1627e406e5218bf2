// Simulates runs with a time limit on a clock that the test moves: whatever the machine does, a run must spend
// 90 to 100 % of its minutes.
#include "train/loop/time_plan.h"

#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/random.h"
#include "tests/train/loop/simulated_run.h"

namespace brightnet::testing {
namespace {

/// Is used by others for a while, again and again, or stands still.
TEST(TimePlan, SpendsItsMinutesAndItsRateOnAMachineThatOthersUse) {
  struct Case {
    std::string what;
    std::function<double(double worked)> slower;
  };
  std::vector<Case> cases;
  for (const double factor : {2.0, 4.0}) {
    for (const auto& [from, to] : std::vector<std::pair<double, double>>{
             {0.02, 0.3}, {0.1, 0.5}, {0.3, 0.6}, {0.4, 0.9}, {0.6, 0.7}, {0.85, 0.95}}) {
      cases.push_back({fmt::format("{} times slower from {} to {}", factor, from, to),
                       [=](double worked) { return worked > from && worked < to ? factor : 1; }});
    }
    for (const double period : {0.01, 0.05, 0.2}) {
      cases.push_back({fmt::format("{} times slower every other {}", factor, period),
                       [=](double worked) { return std::fmod(worked, 2 * period) > period ? factor : 1; }});
    }
  }
  for (const float minutes : {1.0f, 2.0f, 10.0f}) {
    for (const Case& one : cases) {
      SimulatedMachine machine;
      machine.step = [&](double worked, int64_t) { return 0.1 * one.slower(worked / (60 * minutes)); };
      machine.evaluation = [&](double worked) { return 0.4 * one.slower(worked / (60 * minutes)); };
      SimulatedRun run({.minutes = minutes}, machine);
      run.run();
      const std::string what = fmt::format("{}, {} minutes: {}, {:.3f} at the final rate", one.what, minutes,
                                           summary_of(run), run.at_floor());
      EXPECT_GE(run.spent(), 0.92) << what;
      EXPECT_LE(run.spent(), 1.0) << what;
      EXPECT_LE(run.at_floor(), 0.05) << what;
    }
    for (const double part : {0.1, 0.5, 0.8}) {
      for (const double stall : {0.02, 0.1}) {
        SimulatedMachine machine;
        bool stood = false;
        machine.step = [&](double worked, int64_t) {
          if (stood || worked < part * 60 * minutes) return 0.1;
          stood = true;
          return stall * 60 * minutes;
        };
        SimulatedRun run({.minutes = minutes}, machine);
        run.run();
        const std::string what =
            fmt::format("stands still for {} at {} of {} minutes: {}, {:.3f} at the final rate", stall, part,
                        minutes, summary_of(run), run.at_floor());
        EXPECT_GE(run.spent(), 0.92) << what;
        EXPECT_LE(run.spent(), 1.0) << what;
        EXPECT_LE(run.at_floor(), 0.05) << what;
      }
    }
  }
}

/// `factor` times slower after this part of ten minutes.
SimulatedMachine changing(double factor, double part) {
  SimulatedMachine machine;
  const auto slow = [=](double worked) { return worked > 600 * part ? factor : 1; };
  machine.step = [=](double worked, int64_t) { return 0.5 * slow(worked); };
  machine.evaluation = [=](double worked) { return 2 * slow(worked); };
  return machine;
}

TEST(TimePlan, SpendsItsMinutesOnASteadyMachine) {
  expect_kept({}, {}, "steady");
  expect_kept({.minutes = 2}, {}, "two minutes");
  expect_kept({.minutes = 480}, {}, "eight hours");
  expect_kept({.minutes = 0.5f}, {}, "half a minute");
}

TEST(TimePlan, SpendsItsMinutesWhenTheFirstEpochIsThreeTimesSlower) {
  for (const int64_t images : {160, 800, 2000}) {
    SimulatedMachine machine;
    machine.step = [=](double, int64_t step) { return step < images / 4 ? 1.5 : 0.5; };
    expect_kept({.images = images}, machine, fmt::format("cold, {} images", images));
  }
  SimulatedMachine machine;
  machine.step = [](double, int64_t step) { return step == 0 ? 12.0 : step < 5 ? 3.0 : 0.5; };
  expect_kept({}, machine, "slow first steps");
}

TEST(TimePlan, SpendsItsMinutesWhenTheMachineBecomesSlowerOrFaster) {
  for (const double part : {0.1, 0.5, 0.9, 0.95, 0.98}) {
    for (const double factor : {0.3, 0.5, 1.3, 2.0, 3.0})
      expect_kept({}, changing(factor, part), fmt::format("{} times slower at {}", factor, part));
  }
}

TEST(TimePlan, SpendsItsMinutesWhenStepsVary) {
  for (const double spread : {0.3, 0.9}) {
    SimulatedMachine machine;
    machine.step = [=](double, int64_t step) {
      Random random(3, Purpose::order, 0, static_cast<uint64_t>(step));
      return 0.5 + spread * 0.5 * (2.0 * random.below(1000) / 1000 - 1);
    };
    expect_kept({}, machine, fmt::format("spread {}", spread));
  }
  SimulatedMachine hiccups;
  hiccups.step = [](double, int64_t step) { return step % 100 == 50 ? 8 : 0.5; };
  expect_kept({}, hiccups, "hiccups");
}

TEST(TimePlan, SpendsMinutesThatAreLessThanAnEpoch) {
  for (const int64_t images : {5000, 1'000'000})
    expect_kept({.images = images}, {}, fmt::format("{} images", images));
  expect_kept({.images = 1'000'000}, changing(2, 0.5), "slower, 1e6 images");
  // Before the first, 40 validation images are expected to take as long as five steps.
  for (const int64_t val_images : {40, 400, 1000}) {
    for (const double than_expected : {0.3, 1.0, 1.8}) {
      SimulatedMachine machine;
      machine.evaluation = [=](double) { return than_expected * static_cast<double>(val_images) / 16; };
      expect_kept({.images = 1'000'000, .val_images = val_images}, machine,
                  fmt::format("{} validation images, {}", val_images, than_expected));
    }
  }
}

TEST(TimePlan, SpendsItsMinutesWithExpensiveEvaluations) {
  for (const int every : {0, 1, 3}) {
    for (const double seconds : {6, 18, 30, 50}) {
      SimulatedMachine machine;
      machine.evaluation = [=](double) { return seconds; };
      expect_kept({.every = every}, machine, fmt::format("{} s every {}", seconds, every));
      expect_kept({.images = 400, .every = every}, machine,
                  fmt::format("{} s every {} of 100 steps", seconds, every));
    }
  }
}

TEST(TimePlan, SpendsItsMinutesWhenStepsAreLong) {
  for (const double seconds : {7, 20}) {
    SimulatedMachine machine;
    machine.step = [=](double, int64_t) { return seconds; };
    machine.evaluation = [=](double) { return 3 * seconds; };
    expect_kept({}, machine, fmt::format("{} s", seconds));
  }
}

TEST(TimePlan, SpendsTheMinutesThatAreLeftWhenTheRunIsResumed) {
  for (const double part : {0.005, 0.3, 0.7, 0.96}) {
    for (const double factor : {0.5, 1.0, 2.0}) {
      SimulatedRun first({}, {});
      first.run(600 * part);
      ASSERT_FALSE(first.over());
      SimulatedRun rest({}, changing(factor, 0), first.worked());
      rest.resume(first.progress());
      rest.run();
      const std::string what = fmt::format("stopped at {}, then {} times slower", part, factor);
      EXPECT_GE(rest.spent(), 0.9) << what << ": " << summary_of(rest);
      EXPECT_LE(rest.spent(), 1.0) << what << ": " << summary_of(rest);
      // What was planned before is history.
      const auto &old = first.progress().plans, &all = rest.progress().plans;
      ASSERT_GE(all.size(), old.size());
      EXPECT_TRUE(std::equal(old.begin(), old.end(), all.begin())) << what;
    }
  }
}

TEST(TimePlan, NeverGoesBeyondTheEpochsThatWereAskedFor) {
  SimulatedRun few({.epochs = 5}, {});
  few.run();
  EXPECT_EQ(few.progress().iteration, 200);
  EXPECT_TRUE(few.progress().plans.empty()) << "they fit";
  SimulatedRun cold({.epochs = 50}, changing(0.3, 0.2));
  cold.run();
  EXPECT_EQ(cold.progress().iteration, 2000) << "a plan for fewer steps ends at the bound again";
  EXPECT_FALSE(cold.progress().plans.empty());
}

TEST(TimePlan, PlansOnlyWhatIsWorthIt) {
  SimulatedRun run({}, {});
  run.run();
  const auto& plans = run.progress().plans;
  ASSERT_GE(plans.size(), 1u);
  EXPECT_LE(plans.size(), 5u) << "nothing changes on a steady machine";
  EXPECT_LE(plans[0].made_at, 20) << "the first";
  EXPECT_NEAR(static_cast<double>(plans[0].steps), static_cast<double>(plans.back().steps),
              0.08 * static_cast<double>(plans[0].steps));
}

TEST(TimePlan, KeepsTheOnePlanOfAVersionThatPlannedOnce) {
  Progress progress;
  progress.epoch = 2;
  progress.iteration = 80;
  progress.plans = {{0, 100}};
  progress.times.used = -1;
  SimulatedRun run({}, {});
  run.resume(progress);
  run.run();
  EXPECT_EQ(run.progress().iteration, 100);
  EXPECT_EQ(run.progress().plans.size(), 1u);
}

TEST(TimePlan, AnInputThatGrowsTakesMoreTimeInTheEndAndThePlanKnows) {
  for (const double overhead : {0.0, 0.1}) {
    for (const float minutes : {2.0f, 8.0f, 60.0f}) {
      SimulatedRun run({.minutes = minutes, .average = 0, .sizes = {224, 320, 416}}, {.overhead = overhead});
      run.run();
      SCOPED_TRACE(summary_of(run));
      EXPECT_GE(run.spent(), 0.9);
      EXPECT_LE(run.spent(), 1.0);
      // 0.3 · (224² + 320²) / 416² + 0.4 of a step's time a step: 0.6 of the steps' time is at the full size.
      EXPECT_NEAR(run.at_full_size(), 0.57, 0.08);
      SimulatedRun constant({.minutes = minutes, .average = 0}, {});
      constant.run();
      EXPECT_GT(run.progress().iteration, 1.25 * constant.progress().iteration);
    }
  }
}

}  // namespace
}  // namespace brightnet::testing
