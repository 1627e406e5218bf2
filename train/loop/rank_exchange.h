// What the ranks of a run tell each other. All of them call all of this in the same order, and all know the same
// afterwards: how far the epoch is, what one of them asks for, and what rank 0 decides by its clock.
//
//   add(), losses of the device        this rank's part of the epoch
//   share()                            after every step, and before what needs all results
//   sums(), losses()                   over all ranks, as of the last share()
//   of_rank_0()                        a decision that the ranks' clocks would make differently
//
// A saved state has the sums over all ranks. After a resume rank 0 keeps them as its own, and the others begin anew.
#pragma once

#include "train/distributed/communicator.h"
#include "train/run/progress.h"

namespace brightnet {

/// The report of one rank, or of all ranks combined.
struct RankReport {
  /// The sums of the epoch so far.
  LossTotals losses = {};
  EpochSums sums = {};
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

class RankExchange {
 public:
  /// `communicator` outlives it.
  explicit RankExchange(Communicator& communicator) : communicator_(communicator) {}

  /// Adds to this rank's part of the epoch.
  void add(const EpochSums& more) { own_ += more; }
  /// Combines the ranks' losses and requests with what add() has summed: `own` is a report without sums.
  const RankReport& share(RankReport own);
  /// The report of all ranks, as of the last share().
  const RankReport& all() const { return all_; }
  const EpochSums& sums() const { return all_.sums; }
  const LossTotals& losses() const { return all_.losses; }

  /// Begins the next epoch, which has no sums yet.
  void begin_epoch();
  /// Puts the epoch's sums over all ranks into what is about to be saved.
  void complete(Progress& saved) const;
  /// Continues the epoch of a saved state, and leaves in `progress` what this rank's device goes on summing from.
  void resume(Progress& progress);

  /// Rank 0's value, on every rank.
  template <typename T>
  T of_rank_0(T value) {
    broadcast_value(communicator_, value);
    return value;
  }

 private:
  Communicator& communicator_;
  EpochSums own_;
  RankReport all_;
};

}  // namespace brightnet
