// The report that the ranks exchange after every step, so that all of them know the epoch's progress and stop
// and save after the same step.
#pragma once

#include "train/distributed/communicator.h"
#include "train/run/progress.h"

namespace brightnet {

/// The report of one rank, or of all ranks combined.
struct RankReport {
  /// Of the epoch so far.
  LossTotals losses;
  EpochSums sums;
  /// A signal has requested this rank, or any of them, to stop.
  bool stop = false;
  /// Rank 0 requests a save.
  bool save_due = false;
};

/// Combines the reports of all ranks: losses and images are summed, seconds averaged.
RankReport combine(const RankReport& own, Communicator& communicator);

}  // namespace brightnet
