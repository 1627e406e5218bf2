// Fits a run into train.minutes: how many optimizer steps there is time for, planned anew as the run goes, and
// which epochs are evaluated. Only rank 0's decisions count; its clock is not that of the others.
//
// Seconds since Pace::begin_run() count, also those before the run was stopped and resumed: steps, evaluations,
// saves, and what follows the last step. The plan aims at 97 % of them, so that what remains uncertain, the
// last evaluation above all, stays below 100 %.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "train/config/config.h"
#include "train/loop/growing_input.h"
#include "train/loop/length.h"
#include "train/loop/pace.h"

namespace brightnet {

/// The value of evaluate.every; none: chosen by the time that an evaluation takes.
std::optional<int> evaluation_interval(const EvaluateOptions& evaluate);

class TimePlan {
 public:
  /// `val_images`: the images of an evaluation, tiles counted singly. `pace` outlives this object.
  TimePlan(const RunConfig& config, int64_t val_images, Pace& pace);

  /// Whether the run has a time limit. A run that an earlier version planned once keeps that plan.
  bool active() const { return limit_ > 0 && pace_->times().used >= 0; }
  /// The run's new length in steps, when it is time to plan and the plan in force is off by more than the
  /// tolerance; to be called after each step and, with `evaluated`, after each end of an epoch. A length of
  /// progress.iteration ends the run: after an evaluation at once, else with the one at its end.
  std::optional<int64_t> revise(const Progress& progress, const RunLength& length,
                                std::optional<bool> evaluated = std::nullopt);
  /// Whether the epoch that ends now is evaluated. The run's last one always is.
  bool evaluation_due(const Progress& progress, const RunLength& length) const;
  /// Whether to evaluate now, within an epoch so long that too few ends of epochs come. Only where the time
  /// chooses the interval.
  bool evaluation_due_within_epoch(const Progress& progress, const RunLength& length) const;

  /// Whether to evaluate some of the images after this step, to learn how long an evaluation takes: it is expected
  /// to take too much of the time to be made just for that. The first plan waits for it.
  bool timing_due() const;
  /// A message about evaluations that take much of the time, else "". `images`: how many are evaluated.
  std::string describe_evaluation(int64_t images) const;

  /// Whether this process has planned, if only to find that the upper bound fits.
  bool planned() const { return planned_at_ > 0; }
  /// Seconds until the limit; what the progress line counts down.
  double seconds_left() const;

 private:
  bool time_to_plan(const Progress& progress, const RunLength& length) const;
  double seconds_to_end(const Progress& progress, const RunLength& length, int64_t steps,
                        bool evaluated) const;
  int64_t fitting_steps(const Progress& progress, const RunLength& length, int64_t least,
                        bool evaluated) const;
  double work(const Progress& progress, const RunLength& length, int64_t steps) const;
  int64_t evaluations(const Progress& progress, const RunLength& length, int64_t steps) const;
  int64_t last_evaluations(const Progress& progress, int64_t before) const;
  double evaluation_seconds() const;
  double evaluation_spacing() const;
  double seconds_to_next_evaluation() const;
  double seconds_to_last_evaluation(const Progress& progress, const RunLength& length) const;
  double closing_seconds() const;
  double aim() const { return 0.97 * limit_; }

  const EvaluateOptions& evaluate_;
  GrowingInput growing_;
  double limit_, save_every_;
  int average_;  ///< train.average
  /// Steps that take as long as the first evaluation, until it has been measured.
  double evaluation_steps_;
  Pace* pace_;
  /// Seconds used when the run's length was last calculated.
  double planned_at_ = 0;
  /// The least number of steps that tell the speed.
  int64_t recent_steps_ = 10;
};

}  // namespace brightnet
