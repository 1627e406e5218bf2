// What the ranks tell each other after every step: all of them then know how far the epoch is, and stop and
// save after the same step.
#pragma once

#include "train/distributed/communicator.h"
#include "train/run/progress.h"

namespace brightnet {

/// Of one rank, or of all.
struct RankReport {
  /// Of the epoch so far.
  LossTotals losses;
  EpochSums sums;
  /// A signal has asked this rank, or any of them, to stop.
  bool stop = false;
  /// Rank 0 finds it time to save.
  bool save_due = false;
};

/// Every rank gives its own report and gets that of all: losses and images are summed, seconds averaged.
RankReport combine(const RankReport& own, Communicator& communicator);

}  // namespace brightnet
