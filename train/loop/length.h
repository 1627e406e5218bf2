// How long a run is, in optimizer steps and epochs.
#pragma once

#include <cstdint>
#include <vector>

#include "train/config/config.h"
#include "train/run/progress.h"

namespace brightnet {

class RunLength {
 public:
  /// Length of a new run on a training split of this many images: train.iterations or train.epochs. With
  /// train.minutes this is the upper bound of all plans; with automatic epochs there is no bound.
  RunLength(const TrainOptions& train, int64_t images);
  /// Continues from `progress` and clamps its step to the epoch's length, which is shorter when the data set
  /// has shrunk. When the data have changed, the run keeps its remaining epochs rather than its steps.
  void resume(const TrainOptions& train, Progress& progress);
  /// Lets the run end after this many steps instead.
  void set_steps(int64_t steps) { steps_ = steps; }

  int64_t steps() const { return steps_; }
  /// The length without a time limit.
  int64_t bound() const { return bound_; }
  bool bounded() const { return bound_ < unbounded; }
  int64_t steps_per_epoch() const { return steps_per_epoch_; }
  int64_t steps_left(const Progress& progress) const { return steps_ - progress.iteration; }
  /// Whether all steps of the run are done, and whether all of the epoch are.
  bool run_trained(const Progress& progress) const { return progress.iteration >= steps_; }
  bool epoch_trained(const Progress& progress) const {
    return run_trained(progress) || progress.step == steps_per_epoch_;
  }
  /// Whether the run has ended: with an epoch, or within one, where its last step was evaluated.
  bool run_ended(const Progress& progress) const {
    return run_trained(progress) &&
           (progress.step == 0 || progress.evaluation.iteration == progress.iteration);
  }
  /// Counts the epoch that has ended, and begins the next one. Returns false for one within which the run ended: a run that
  /// is made longer finishes it.
  bool count_epoch(Progress& progress) const;
  /// Epochs of the whole run: those done, whose number of steps may have differed if the data changed, plus
  /// those that the remaining steps make up.
  int64_t epochs(const Progress& progress) const;
  /// The step at which the last `fraction` of the run begins. A plan made after that does not move it.
  int64_t last_part(double fraction, const std::vector<Plan>& plans) const;

 private:
  /// Steps of a run without an upper bound: more than any run has, and few enough to calculate with.
  static constexpr int64_t unbounded = 1'000'000'000'000;

  int64_t steps_per_epoch_, bound_, steps_;
};

}  // namespace brightnet
