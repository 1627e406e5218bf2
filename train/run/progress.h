// Where a run is, and what the epoch that it is in took so far.
#pragma once

#include <cstdint>

#include "kernels/optimizer.h"

namespace brightnet {

/// What the part of an epoch that is done took: of one rank, or of all of them, when images are summed and
/// seconds averaged.
struct EpochSums {
  double images = 0;
  double seconds = 0;
  /// Seconds of waiting for the loader.
  double waited = 0;
  /// Seconds that the computation stood still for other ranks.
  double comm_waited = 0;
  /// Seconds of the device's work.
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

/// Where a run is.
struct Progress {
  /// That is being trained, from 0.
  uint64_t epoch = 0;
  /// Optimizer steps of it that are done.
  uint64_t step = 0;
  /// Optimizer steps of the run, skipped ones included.
  int64_t iteration = 0;
  /// Of an evaluation so far; −1: there was none.
  double best_score = -1;
  /// From 1; 0: none.
  int best_epoch = 0;
  int evaluations_since_best = 0;
  /// Optimizer steps of the whole run, once a limit of time has fixed them; 0: not yet.
  int64_t planned = 0;
  EpochSums sums;
  /// The device's, as the host last saw it: loss sums, loss scale, steps applied and skipped.
  StepState state;
};

}  // namespace brightnet
