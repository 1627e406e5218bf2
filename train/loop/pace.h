// The durations of a run's steps, evaluations and saves on this rank's clock, and the estimates made from
// them: the time left, the epochs that fit into a time limit, and when to save next.
#pragma once

#include <cstdint>
#include <functional>

#include "core/clock.h"
#include "train/run/progress.h"

namespace brightnet {

class Pace {
 public:
  /// `now` returns seconds.
  explicit Pace(int64_t steps_per_epoch, std::function<double()> now = seconds_now);

  /// The duration of a step before the run was resumed; used until this process has measured its own.
  void expect(double step_seconds) { step_seconds_ = step_seconds; }
  void begin_run();

  double now() const { return now_(); }
  /// Records a step's duration; `progress` already counts that step.
  void step_done(double seconds, const Progress& progress);
  /// An evaluation (a save) that began at second `began` has just finished.
  void evaluation_done(double began) { evaluation_seconds_ = now() - began; }
  void save_done(double began);

  /// Estimated seconds of this many steps; negative when nothing is known yet.
  double seconds_of(int64_t steps) const;
  double seconds_since_save() const { return now() - saved_at_; }
  /// Whether to save in mid-epoch (an epoch may take hours): the saved state is `save_every` seconds old, and
  /// saving takes at most 1/50 of the time (a large state on a slow disk).
  bool save_due(double save_every) const;
  /// How many epochs, with an evaluation every `evaluate_every`, fit into the rest of `minutes`
  /// since begin_run().
  int64_t epochs_within(double minutes, int evaluate_every) const;

 private:
  /// Measured over the second half of the run's first epoch, since the first steps include warm-up; without
  /// that, the moving average.
  double steady_step_seconds() const;

  int64_t steps_per_epoch_;
  std::function<double()> now_;
  double began_at_ = 0, saved_at_ = 0;
  /// Moving average over the steps; the last evaluation; the last save.
  double step_seconds_ = 0, evaluation_seconds_ = 0, save_seconds_ = 0;
  /// When half of the first epoch's steps were done, and when its latest step was done.
  double half_epoch_at_ = 0, epoch_at_ = 0;
};

}  // namespace brightnet
