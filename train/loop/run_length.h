// How long a run is, in optimizer steps and epochs.
#pragma once

#include <cstdint>

#include "train/config/config.h"
#include "train/run/progress.h"

namespace brightnet {

class RunLength {
 public:
  /// A new run's, over a training split of this many images.
  RunLength(const TrainOptions& train, int64_t images);
  /// Goes on from `progress`, and cuts its step to the epoch's length: fewer images than before make an epoch
  /// that is over by now. When the data have changed, the epochs that are still to come count.
  void resume(const TrainOptions& train, Progress& progress);
  /// The run ends after this many steps instead.
  void set_steps(int64_t steps) { steps_ = steps; }

  int64_t steps() const { return steps_; }
  int64_t steps_per_epoch() const { return steps_per_epoch_; }
  int64_t steps_left(const Progress& progress) const { return steps_ - progress.iteration; }
  /// Whether all steps of the run are done, and whether all of the epoch are.
  bool run_trained(const Progress& progress) const { return progress.iteration >= steps_; }
  bool epoch_trained(const Progress& progress) const {
    return run_trained(progress) || static_cast<int64_t>(progress.step) == steps_per_epoch_;
  }
  /// All epochs of the run: those begun earlier, which may have had other steps when the data have changed
  /// since, and those that the rest of the steps make.
  int64_t epochs(const Progress& progress) const;

 private:
  int64_t steps_per_epoch_, steps_;
};

}  // namespace brightnet
