// The report that the ranks exchange after every step, so that all of them know the epoch's progress, and stop,
// save and plan anew after the same step.
#pragma once

#include "train/distributed/communicator.h"
#include "train/run/progress.h"

namespace brightnet {

/// The report of one rank, or of all ranks combined.
struct RankReport {
  /// Of the epoch so far.
  LossTotals losses;
  EpochSums sums;
  /// This rank, or any of them, has been asked to stop.
  bool stop = false;
  /// Rank 0 requests a save.
  bool save_due = false;
  /// Rank 0 requests an evaluation within the epoch.
  bool evaluation_due = false;
  /// Rank 0 requests that the evaluation of some images is timed.
  bool timing_due = false;
  /// Rank 0's new plan of the run's length, in steps; 0: the plan stays.
  int64_t planned = 0;
};

/// Combines the reports of all ranks: losses and images are summed, seconds averaged.
RankReport combine(const RankReport& own, Communicator& communicator);

}  // namespace brightnet
