// A run's progress as one line of text, most important first: 80 columns show epoch, step, loss, time left,
// AP and learning rate.
#pragma once

#include <string>

#include "train/evaluate/metrics.h"
#include "train/run/progress.h"

namespace brightnet {

struct RunProgress {
  /// From 1: the epoch being trained, or the one that has just ended; of how many, 0: unknown.
  int64_t epoch = 0, epochs = 0;
  /// Within the epoch; 0: it has ended.
  int64_t step = 0, steps_per_epoch = 0;
  /// Optimizer steps done, of how many, for a run whose length they are; 0: epochs are.
  int64_t iteration = 0, iterations = 0;
  /// Of the epoch, over all ranks; losses.images is 0 when every step was skipped.
  EpochSums sums;
  LossTotals losses;
  /// Until the run's last step; negative: unknown.
  double seconds_left = -1;
  /// Learning rate.
  float rate = 0;
  /// 0 without loss scaling.
  float loss_scale = 0;
  /// Show the time of waiting for other ranks.
  bool many_ranks = false;
  /// Show the fraction of time that the device is busy.
  bool device_beside_host = false;
  /// nullptr: none yet.
  const Metrics* metrics = nullptr;
};

/// "epoch 3/300 120/250  loss 2.345  ETA 1:02:03  AP50 0.512 AP 0.301  lr 0.0013  …". What was not measured
/// is "-".
std::string progress_text(const RunProgress& run);

}  // namespace brightnet
