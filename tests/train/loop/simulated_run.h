// A run with a time limit on a clock that the test moves, without a network.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "train/loop/kept_sets.h"
#include "train/loop/time_plan.h"
#include "train/optimizer/schedule.h"

namespace brightnet::testing {

/// What things take on a simulated machine, in seconds, after so many seconds of work and steps.
struct SimulatedMachine {
  std::function<double(double worked, int64_t step)> step = [](double, int64_t) { return 0.5; };
  std::function<double(double worked)> evaluation = [](double) { return 2.0; };
  double save = 0.2, epoch_end = 0.05, plots = 0.3;
  double overhead = 0;  ///< of a small input's step, a part of the largest's
};

/// A run of ten minutes unless told otherwise: 40 steps an epoch, any number of epochs.
struct SimulatedLimits {
  float minutes = 10;
  int64_t images = 160;
  int epochs = 0, every = 0;  ///< 0: automatic
  int64_t val_images = 40;
  int batch = 4, average = 3;
  int start = 1;                      ///< the first epoch that is evaluated
  std::vector<InputSize> sizes = {};  ///< through which the input grows over the first 60 %
};

/// Trainer::run() without a network.
class SimulatedRun {
 public:
  SimulatedRun(const SimulatedLimits& limits, const SimulatedMachine& machine, double worked = 0)
      : machine_(machine), worked_(worked), val_images_(limits.val_images) {
    config_.train.batch = limits.batch;
    config_.train.average = limits.average;
    config_.train.minutes = limits.minutes;
    if (limits.epochs > 0) config_.train.epochs = limits.epochs;
    if (limits.every > 0) config_.evaluate.every = limits.every;
    config_.evaluate.start = limits.start;
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
  /// The epoch of the first evaluation, from 1; 0: there was none.
  int64_t first_evaluated() const { return first_evaluated_; }
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
    if (++evaluations_ == 1) first_evaluated_ = progress_.epoch + 1;
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
  SimulatedMachine machine_;
  double now_ = 1000, worked_ = 0, evaluating_ = 0, at_full_size_ = 0;
  int evaluations_ = 0;
  int64_t first_evaluated_ = 0;
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

inline std::string summary_of(const SimulatedRun& run) {
  return fmt::format(
      "{:.3f} spent, {} steps, {:.1f} epochs, {} plans, {} evaluations in {:.3f}", run.spent(),
      run.progress().iteration,
      static_cast<double>(run.progress().iteration) / static_cast<double>(run.length().steps_per_epoch()),
      run.progress().plans.size(), run.evaluations(), run.evaluating());
}

inline void expect_kept(const SimulatedLimits& limits, const SimulatedMachine& machine,
                        const std::string& what) {
  SimulatedRun run(limits, machine);
  run.run();
  EXPECT_GE(run.spent(), 0.9) << what << ": " << summary_of(run);
  EXPECT_LE(run.spent(), 1.0) << what << ": " << summary_of(run);
  EXPECT_LE(run.progress().plans.size(), 60u) << what << ": " << summary_of(run);
  EXPECT_TRUE(run.evaluated_last()) << what;
}

}  // namespace brightnet::testing
