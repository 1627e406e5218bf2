// A run's progress as one line of text, most important first: 80 columns show epoch, step, loss, time left,
// AP and the epoch that it is of. What was not measured is left out.
#pragma once

#include <optional>
#include <string>

#include "detect/evaluate/average_precision.h"
#include "train/run/progress.h"

namespace brightnet {

/// Of the newest evaluation.
struct LastScores {
  /// Epochs done then: 3, or 2.4 within the third.
  double epoch = 0;
  double AP50 = no_truths, AP = no_truths;
  /// Loss on the validation split; only of the evaluation that has just been made.
  std::optional<double> loss = std::nullopt;
};

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
  std::optional<LastScores> scores;
  /// The scores are of this moment, so that their epoch need not be said.
  bool just_evaluated = false;
};

/// "epoch 3/300 120/250  loss 2.345  ETA 1:02:03  AP50 0.512 AP 0.301 (epoch 2)  lr 0.0013  …".
std::string progress_text(const RunProgress& run);
/// "epoch 3/300" or, within it, "epoch 3/300 120/250"; "iteration 1200/6000" where that is the length.
std::string position_text(const RunProgress& run);
/// "evaluating 34/87 images"
std::string evaluation_text(int64_t done, int64_t images);

}  // namespace brightnet
