// A run's progress, and the times of its current epoch.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/optimizer.h"

namespace brightnet {

/// Images and times of the current epoch so far, of one rank or of all (images summed, seconds averaged).
struct EpochSums {
  double images = 0;
  double seconds = 0;
  /// Seconds of waiting for the loader.
  double waited = 0;
  /// Seconds of waiting for other ranks.
  double comm_waited = 0;
  /// Seconds that the device was busy.
  double busy = 0;

  EpochSums& operator+=(const EpochSums& more) {
    images += more.images;
    seconds += more.seconds;
    waited += more.waited;
    comm_waited += more.comm_waited;
    busy += more.busy;
    return *this;
  }
  EpochSums operator-(const EpochSums& before) const {
    return {images - before.images, seconds - before.seconds, waited - before.waited,
            comm_waited - before.comm_waited, busy - before.busy};
  }
};

/// A plan of the run's length, made to fit train.minutes.
struct Plan {
  /// Optimizer steps done when it was made.
  int64_t made_at = 0;
  /// Optimizer steps of the whole run.
  int64_t steps = 0;

  bool operator==(const Plan&) const = default;
};

/// Times in seconds, on the clock of rank 0.
struct RunTimes {
  /// Seconds of the run so far, evaluations and saves included, without the time while it was stopped. Negative: not
  /// known, in the state of a version that planned once and did not save it.
  double used = 0;
  /// Seconds of the last evaluation, or what one was found to take; 0: not known yet.
  double evaluation = 0;
  /// `used` when the last evaluation ended.
  double evaluated_at = 0;
};

/// An evaluation whose averaged parameters are kept.
struct KeptSet {
  /// Optimizer steps of the run when it was evaluated; an epoch may have several evaluations.
  int64_t iteration = 0;
  double score = 0;

  bool operator==(const KeptSet&) const = default;
};

/// The result of the last evaluation of the run's own weights.
struct LastEvaluation {
  /// Optimizer steps of the run when it was made; −1: there was none.
  int64_t iteration = -1;
  double AP = 0;
  double AP50 = 0;

  bool operator==(const LastEvaluation&) const = default;
};

/// How far a run has come.
struct Progress {
  /// The current epoch, from 0.
  int64_t epoch = 0;
  /// Optimizer steps done in this epoch.
  int64_t step = 0;
  /// Optimizer steps done in the run, skipped ones included.
  int64_t iteration = 0;
  /// The learning rate of the last of them, which a plan or a length of later does not tell; −1: not known, in the state of
  /// an earlier version.
  float rate = 0;
  /// Best score of an evaluation so far; −1: none.
  double best_score = -1;
  /// The best epoch, from 1; 0: none.
  int best_epoch = 0;
  int evaluations_since_best = 0;
  /// Written with the weights that it is of, also by a process that did not make it.
  LastEvaluation evaluation;
  /// All plans so far, in order. The last one is in force; the schedule and the last part without mosaic
  /// follow from all of them. None without train.minutes, or while nothing is known of the run's speed.
  std::vector<Plan> plans;
  RunTimes times;
  /// How often the input has grown (train.grow); −1: not known, in the state of an earlier version. And whether
  /// simota's static assignment is over. A run that is made longer goes back in neither.
  int input_stage = 0;
  bool static_over = false;
  /// Scores of the latest evaluations, oldest first: what evaluate.smooth averages.
  std::vector<double> recent_scores;
  /// The evaluations whose averaged parameters are kept (train.average), in order.
  std::vector<KeptSet> kept;
  /// Whether the average of the kept parameters has been evaluated, and its score; −1: there is none. And the confidence
  /// that suits it best; −1: not known, in the state of an earlier version or where it detects nothing.
  bool averaged = false;
  double averaged_score = -1;
  double averaged_confidence = -1;
  EpochSums sums;
  /// Last copy of the device's state: loss sums, loss scale, steps applied and skipped.
  StepState state;
};

}  // namespace brightnet
