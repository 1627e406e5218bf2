// How fast a run goes by this rank's clock: what its steps, evaluations and saves take, and what follows from
// that for its end and for the next save.
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

  /// Until steps of this process tell: what a step took before the run was resumed.
  void expect(double step_seconds) { step_seconds_ = step_seconds; }
  void begin_run();

  double now() const { return now_(); }
  /// A step took this long; `progress` counts it.
  void step_done(double seconds, const Progress& progress);
  /// What began at that second is done now.
  void evaluation_done(double began) { evaluation_seconds_ = now() - began; }
  void save_done(double began);

  /// What so many steps will take; negative when nothing is known yet.
  double seconds_of(int64_t steps) const;
  double seconds_since_save() const { return now() - saved_at_; }
  /// Whether it is time to save within an epoch, which may take hours: when the last state is `save_every`
  /// seconds old, and saves of a large state on a slow disk do not take more than a fiftieth of the time.
  bool save_due(double save_every) const;
  /// How many epochs fit into what is left of `minutes` since begin_run(), one evaluation in
  /// `evaluate_every` of them.
  int64_t epochs_within(double minutes, int evaluate_every) const;

 private:
  /// Of one step: from the second half of the run's first epoch, since the first steps also warm up, or else
  /// the average over the last ones.
  double steady_step_seconds() const;

  int64_t steps_per_epoch_;
  std::function<double()> now_;
  double began_at_ = 0, saved_at_ = 0;
  /// Averages that follow the last steps; the last evaluation; the last save.
  double step_seconds_ = 0, evaluation_seconds_ = 0, save_seconds_ = 0;
  /// When the first epoch's steps were half done, and when the latest of them was done.
  double half_epoch_at_ = 0, epoch_at_ = 0;
};

}  // namespace brightnet
