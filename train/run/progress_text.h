// A run's progress in one line of text, most wanted things first: a terminal of 80 columns shows how far it
// is, the loss, when it ends, how good it is and the learning rate.
#pragma once

#include <string>

#include "train/evaluate/metrics.h"
#include "train/run/progress.h"

namespace brightnet {

struct RunProgress {
  /// From 1: that is trained, or that has just ended.
  int64_t epoch = 0, epochs = 0;
  /// Of the epoch; 0: it has ended.
  int64_t step = 0, steps_per_epoch = 0;
  /// Of the epoch, over all ranks; the losses have no images when every step was skipped.
  EpochSums sums;
  LossTotals losses;
  /// Until the run's last step; negative: not known yet.
  double seconds_left = -1;
  /// The learning rate.
  float rate = 0;
  /// 0 where the loss is not scaled.
  float loss_scale = 0;
  /// The time of waiting for them is shown.
  bool many_ranks = false;
  /// The device's share of the time is shown.
  bool device_beside_host = false;
  /// nullptr when there are none.
  const Metrics* metrics = nullptr;
};

/// "epoch 3/300 120/250  loss 2.345  ETA 1:02:03  AP50 0.512 AP 0.301  lr 0.0013  …". What was not measured
/// is "-".
std::string progress_text(const RunProgress& run);

}  // namespace brightnet
