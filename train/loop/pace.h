// The durations of a run's steps, evaluations and saves on this rank's clock, and the estimates made from
// them: the time left, and when to save next. What fits into a time limit is TimePlan's.
#pragma once

#include <cstdint>
#include <functional>

#include "core/clock.h"
#include "train/run/progress.h"

namespace brightnet {

class Pace {
 public:
  /// `now` returns seconds.
  explicit Pace(std::function<double()> now = seconds_now) : now_(std::move(now)) {}

  /// The duration of a step before the run was resumed; used until this process has measured its own.
  void expect(double step_seconds) { step_seconds_ = step_seconds; }
  /// recent_step_seconds() looks back over this many seconds, and at least over this many steps. Steps differ
  /// in multi-scale training, so there it has to cover several sizes.
  void look_back(double seconds, int64_t steps) {
    recent_seconds_ = seconds;
    recent_steps_ = steps;
  }
  /// Begins a run, or continues one that had taken these times when it was saved.
  void begin_run(const RunTimes& before = {});

  double now() const { return now_(); }
  /// Records a step's duration. It did this part of the work of a step of the largest input; all durations of
  /// steps below are of such steps.
  void step_done(double seconds, double work = 1);
  /// Records a pause from second `began` until now: the end of an epoch, or an evaluation within it, which
  /// did this part of the work of one at full size; all durations of evaluations below are of such ones.
  void pause_done(double began, bool evaluated, double work = 1);
  void save_done(double began);
  /// Records a pause from second `began` until now, which showed that an evaluation takes this many seconds.
  void evaluation_timed(double began, double seconds);

  /// Estimated seconds of this many steps; negative when nothing is known yet.
  double seconds_of(double steps) const;
  double seconds_since_save() const { return now() - saved_at_; }
  /// Whether to save in mid-epoch (an epoch may take hours): the saved state is `save_every` seconds old, and
  /// saving takes at most 1/50 of the time (a large state on a slow disk).
  bool save_due(double save_every) const;

  /// The times of the whole run so far, for its saved state.
  RunTimes times() const;
  /// Steps in this process.
  int64_t steps() const { return steps_; }
  /// Seconds of a step by the clock, with all that comes between two steps except saves and ends of epochs.
  double recent_step_seconds() const;
  /// Seconds of an evaluation with its report, as slow as the steps are now; 0 while none has been timed.
  double evaluation_seconds() const;
  /// Seconds of an epoch's end without evaluation, and of a save; 0 before the first.
  double epoch_end_seconds() const { return epoch_end_seconds_; }
  double save_seconds() const { return save_seconds_; }

 private:
  std::function<double()> now_;
  double began_at_ = 0, saved_at_ = 0;
  /// Second at which the last step or pause ended, moved on by the duration of the saves since.
  double mark_ = 0;
  int64_t steps_ = 0;
  /// Seconds of a step (moving average), of the last save, of an epoch's end without evaluation (mean).
  double step_seconds_ = 0, save_seconds_ = 0, epoch_end_seconds_ = 0;
  /// Sums of the steps' durations and of their number in which older ones count less and less.
  double sum_seconds_ = 0, sum_steps_ = 0;
  double recent_seconds_ = 30;
  int64_t recent_steps_ = 10;
  RunTimes before_;
  /// Seconds of the last evaluation, or those that one was found to take, and of a step at that time.
  double evaluation_seconds_ = 0, step_seconds_then_ = 0;
};

}  // namespace brightnet
