// A run's progress in one line of text, most wanted things first: a terminal of 80 columns shows how far it
// is, the loss, when it ends, how good it is and the learning rate.
#pragma once

#include <string>

#include "train/evaluate/metrics.h"
#include "train/run/progress.h"

namespace brightnet {

struct RunProgress {
  int64_t epoch = 0, epochs = 0;          ///< from 1: that is trained, or that has just ended
  int64_t step = 0, steps_per_epoch = 0;  ///< of the epoch; 0: it has ended
  EpochSums sums;                         ///< of the epoch, over all ranks
  LossTotals losses;                      ///< likewise; without images when every step was skipped
  double seconds_left = -1;               ///< of the run's steps; negative: not known yet
  float rate = 0;
  float loss_scale = 0;              ///< 0 where the loss is not scaled
  bool many_ranks = false;           ///< then the waiting for them is shown
  bool device_beside_host = false;   ///< then how busy the device is is shown
  const Metrics* metrics = nullptr;  ///< nullptr when there are none
};

/// "epoch 3/300 120/250  loss 2.345  ETA 1:02:03  AP50 0.512 AP 0.301  lr 0.0013  …". What was not measured
/// is "-".
std::string progress_text(const RunProgress& run);

}  // namespace brightnet
