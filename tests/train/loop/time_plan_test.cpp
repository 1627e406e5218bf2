// Simulates runs with a time limit on a clock that the test moves: whatever the machine does, a run must spend
// 90 to 100 % of its minutes.
#include "train/loop/time_plan.h"

#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/random.h"
#include "train/loop/kept_sets.h"
#include "train/optimizer/schedule.h"

namespace brightnet {
namespace {

/// What things take on a simulated machine, in seconds, after so many seconds of work and steps.
struct Machine {
  std::function<double(double worked, int64_t step)> step = [](double, int64_t) { return 0.5; };
  std::function<double(double worked)> evaluation = [](double) { return 2.0; };
  double save = 0.2, epoch_end = 0.05, plots = 0.3;
  double overhead = 0;  ///< of a small input's step, a part of the largest's
};

/// A run of ten minutes unless told otherwise: 40 steps an epoch, any number of epochs.
struct Limits {
  float minutes = 10;
  int64_t images = 160;
  int epochs = 0, every = 0;  ///< 0: automatic
  int64_t val_images = 40;
  int batch = 4, average = 3;
  std::vector<InputSize> sizes = {};  ///< through which the input grows over the first 60 %
};

/// Trainer::run() without a network.
class SimulatedRun {
 public:
  SimulatedRun(const Limits& limits, const Machine& machine, double worked = 0)
      : machine_(machine), worked_(worked), val_images_(limits.val_images) {
    config_.train.batch = limits.batch;
    config_.train.average = limits.average;
    config_.train.minutes = limits.minutes;
    if (limits.epochs > 0) config_.train.epochs = limits.epochs;
    if (limits.every > 0) config_.evaluate.every = limits.every;
    config_.train.sizes = limits.sizes;
    config_.train.grow = limits.sizes.empty() ? 0.0f : 0.6f;
    growing_.emplace(config_);
    pace_.emplace([this] { return now_; });
    plan_.emplace(config_, limits.val_images, *pace_);
    length_.emplace(config_.train, limits.images);
    config_.schedule.unit = ScheduleUnit::iterations;
    config_.schedule.warmup = 20;
    config_.schedule.power = 1;
    schedule_.emplace(config_.schedule, 1.0f, length_->steps_per_epoch(), length_->bound());
  }
  SimulatedRun(const SimulatedRun&) = delete;
  SimulatedRun& operator=(const SimulatedRun&) = delete;

  void resume(const Progress& progress) {
    progress_ = progress;
    length_->resume(config_.train, progress_);
  }
  /// Until the run is over, or has worked so long.
  void run(double until = 1e9) {
    pace_->begin_run(progress_.times);
    while (!over() && worked_ < until) {
      if (!length_->epoch_trained(progress_)) step();
      adopt(plan_->revise(progress_, *length_));
      if (plan_->timing_due()) time_evaluation();
      if (length_->epoch_trained(progress_)) {
        end_epoch();
      } else {
        if (plan_->evaluation_due_within_epoch(progress_, *length_)) evaluate_within_epoch();
        if (pace_->save_due(30)) save();
      }
    }
    progress_.times = pace_->times();
    if (!over()) return;
    if (progress_.kept.size() >= 2) pass(machine_.evaluation(worked_));  // of their average
    pass(machine_.save + machine_.plots);
  }

  bool over() const { return length_->run_trained(progress_) && progress_.step == 0; }
  /// Part of the minutes that has been spent.
  double spent() const { return worked_ / (60.0 * config_.train.minutes); }
  /// Part of the minutes in which steps had the largest input.
  double at_full_size() const { return at_full_size_ / (60.0 * config_.train.minutes); }
  /// Part of the minutes in which steps had the schedule's final rate.
  double at_floor() const { return at_floor_ / (60.0 * config_.train.minutes); }
  /// Both without the evaluation of the average.
  double evaluating() const { return evaluating_ / (60.0 * config_.train.minutes); }
  int evaluations() const { return evaluations_; }
  const std::string& evaluation_described() const { return evaluation_described_; }
  double worked() const { return worked_; }
  bool evaluated_last() const { return evaluated_last_; }
  const Progress& progress() const { return progress_; }
  const RunLength& length() const { return *length_; }

 private:
  void pass(double seconds) {
    now_ += seconds;
    worked_ += seconds;
  }
  void step() {
    const int64_t step = progress_.iteration;
    const auto boundaries = growing_->boundaries(*length_, progress_);
    const double part = growing_->work(step, step + 1, boundaries);
    const double took = machine_.step(worked_, step) * (part < 1 ? part + machine_.overhead : 1);
    at_full_size_ += part == 1 ? took : 0;
    pass(took);
    at_floor_ += schedule_->rate(step) < 1.25f * config_.schedule.final ? took : 0;
    ++progress_.iteration;
    ++progress_.step;
    pace_->step_done(took, part);
  }
  void save() {
    const double began = now_;
    pass(machine_.save);
    pace_->save_done(began);
  }
  void evaluate() {
    const double seconds = machine_.evaluation(worked_);
    ++evaluations_;
    evaluating_ += seconds;
    pass(seconds);
    if (!over()) keep_set(progress_.kept, {progress_.iteration, 0}, config_.train.average);
  }
  /// Twice a fiftieth of an evaluation.
  void time_evaluation() {
    const double began = now_, seconds = machine_.evaluation(worked_);
    pass(seconds / 25);
    pace_->evaluation_timed(began, seconds);
    evaluation_described_ = plan_->describe_evaluation(val_images_);
  }
  void evaluate_within_epoch() {
    const double began = now_;
    evaluate();
    pace_->pause_done(began, true);
  }
  void end_epoch() {
    const double began = now_;
    const bool last = length_->run_trained(progress_);
    evaluated_last_ = last || plan_->evaluation_due(progress_, *length_);
    if (evaluated_last_) evaluate();
    pass(machine_.epoch_end);
    ++progress_.epoch;
    progress_.step = 0;
    if (pace_->seconds_since_save() >= 30) save();
    pace_->pause_done(began, evaluated_last_);
    if (!length_->run_trained(progress_)) adopt(plan_->revise(progress_, *length_, evaluated_last_));
  }
  void adopt(std::optional<int64_t> steps) {
    if (!steps) return;
    progress_.plans.push_back({progress_.iteration, *steps});
    length_->set_steps(*steps);
    schedule_->change_total(progress_.iteration, *steps, 0.1);
  }

  RunConfig config_;
  Machine machine_;
  double now_ = 1000, worked_ = 0, evaluating_ = 0, at_full_size_ = 0;
  int evaluations_ = 0;
  bool evaluated_last_ = false;
  int64_t val_images_;
  std::string evaluation_described_;
  std::optional<GrowingInput> growing_;
  std::optional<Pace> pace_;
  std::optional<TimePlan> plan_;
  std::optional<RunLength> length_;
  std::optional<Schedule> schedule_;
  double at_floor_ = 0;
  Progress progress_;
};

std::string describe(const SimulatedRun& run) {
  return fmt::format(
      "{:.3f} spent, {} steps, {:.1f} epochs, {} plans, {} evaluations in {:.3f}", run.spent(),
      run.progress().iteration,
      static_cast<double>(run.progress().iteration) / static_cast<double>(run.length().steps_per_epoch()),
      run.progress().plans.size(), run.evaluations(), run.evaluating());
}

void expect_kept(const Limits& limits, const Machine& machine, const std::string& what) {
  SimulatedRun run(limits, machine);
  run.run();
  EXPECT_GE(run.spent(), 0.9) << what << ": " << describe(run);
  EXPECT_LE(run.spent(), 1.0) << what << ": " << describe(run);
  EXPECT_LE(run.progress().plans.size(), 60u) << what << ": " << describe(run);
  EXPECT_TRUE(run.evaluated_last()) << what;
}

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
      Machine machine;
      machine.step = [&](double worked, int64_t) { return 0.1 * one.slower(worked / (60 * minutes)); };
      machine.evaluation = [&](double worked) { return 0.4 * one.slower(worked / (60 * minutes)); };
      SimulatedRun run({.minutes = minutes}, machine);
      run.run();
      const std::string what = fmt::format("{}, {} minutes: {}, {:.3f} at the final rate", one.what, minutes,
                                           describe(run), run.at_floor());
      EXPECT_GE(run.spent(), 0.92) << what;
      EXPECT_LE(run.spent(), 1.0) << what;
      EXPECT_LE(run.at_floor(), 0.05) << what;
    }
    for (const double part : {0.1, 0.5, 0.8}) {
      for (const double stall : {0.02, 0.1}) {
        Machine machine;
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
                        minutes, describe(run), run.at_floor());
        EXPECT_GE(run.spent(), 0.92) << what;
        EXPECT_LE(run.spent(), 1.0) << what;
        EXPECT_LE(run.at_floor(), 0.05) << what;
      }
    }
  }
}

/// `factor` times slower after this part of ten minutes.
Machine changing(double factor, double part) {
  Machine machine;
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
    Machine machine;
    machine.step = [=](double, int64_t step) { return step < images / 4 ? 1.5 : 0.5; };
    expect_kept({.images = images}, machine, fmt::format("cold, {} images", images));
  }
  Machine machine;
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
    Machine machine;
    machine.step = [=](double, int64_t step) {
      Random random(3, Purpose::order, 0, static_cast<uint64_t>(step));
      return 0.5 + spread * 0.5 * (2.0 * random.below(1000) / 1000 - 1);
    };
    expect_kept({}, machine, fmt::format("spread {}", spread));
  }
  Machine hiccups;
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
      Machine machine;
      machine.evaluation = [=](double) { return than_expected * static_cast<double>(val_images) / 16; };
      expect_kept({.images = 1'000'000, .val_images = val_images}, machine,
                  fmt::format("{} validation images, {}", val_images, than_expected));
    }
  }
}

TEST(TimePlan, SpendsItsMinutesWithExpensiveEvaluations) {
  for (const int every : {0, 1, 3}) {
    for (const double seconds : {6, 18, 30, 50}) {
      Machine machine;
      machine.evaluation = [=](double) { return seconds; };
      expect_kept({.every = every}, machine, fmt::format("{} s every {}", seconds, every));
      expect_kept({.images = 400, .every = every}, machine,
                  fmt::format("{} s every {} of 100 steps", seconds, every));
    }
  }
}

TEST(TimePlan, SpendsItsMinutesWhenStepsAreLong) {
  for (const double seconds : {7, 20}) {
    Machine machine;
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
      EXPECT_GE(rest.spent(), 0.9) << what << ": " << describe(rest);
      EXPECT_LE(rest.spent(), 1.0) << what << ": " << describe(rest);
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

TEST(TimePlan, EvaluatesForATwelfthOfTheTimeButFiveTimes) {
  for (const double seconds : {0.5, 2.0, 4.0, 9.0}) {
    for (const int64_t images : {160, 1600, 100'000}) {
      Machine machine;
      machine.evaluation = [=](double) { return seconds; };
      SimulatedRun run({.images = images}, machine);
      run.run();
      EXPECT_LE(run.evaluating(), 0.1) << describe(run);
      EXPECT_GE(run.evaluations(), 5) << describe(run);
    }
  }
  for (const double seconds : {18, 26}) {
    Machine machine;
    machine.evaluation = [=](double) { return seconds; };
    SimulatedRun run({}, machine);
    run.run();
    EXPECT_GE(run.evaluations(), 4) << describe(run);
    EXPECT_LE(run.evaluations(), 6) << describe(run);
  }
  SimulatedRun rare({}, {.evaluation = [](double) { return 60.0; }});
  rare.run();
  EXPECT_LE(rare.evaluating(), 0.31) << "five would take half of the time: " << describe(rare);
}

/// A machine that trains 20 images/s and evaluates an image in this part of the time.
Machine with_validation(int64_t images, double part, int batch) {
  Machine machine;
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
  EXPECT_GE(run.evaluations(), 90) << describe(run);
  EXPECT_LE(run.evaluations(), 105) << describe(run);
}

TEST(TimePlan, EvaluatesAsOftenAsItWasTold) {
  SimulatedRun run({.every = 4}, {.evaluation = [](double) { return 9.0; }});
  run.run();
  const auto epochs = static_cast<int>(run.progress().epoch);
  EXPECT_EQ(run.evaluations(), (epochs - 1) / 4 + 1 + ((epochs - 1) % 4 > 0 ? 1 : 0)) << describe(run);
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
      SCOPED_TRACE(describe(run));
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
}  // namespace brightnet
