// A run's progress as one line of text, most important first: 80 columns show epoch, step, loss, time left,
// AP and the epoch that it is of. What was not measured is left out.
#pragma once

#include <optional>
#include <string>

#include "detect/evaluate/average_precision.h"
#include "train/loop/training_observer.h"
#include "train/report/metrics_csv.h"

namespace brightnet {

/// The scores of the newest evaluation.
struct LastScores {
  /// Epochs done then: 3, or 2.4 within the third.
  double epoch = 0;
  double AP50 = no_truths, AP = no_truths;
  /// Loss on the validation split; only of the evaluation that has just been made.
  std::optional<double> loss = std::nullopt;
};

/// A status with what the line shows besides.
struct RunProgress : TrainingStatus {
  /// Show the time of waiting for other ranks.
  bool many_ranks = false;
  /// Show the fraction of time that the device is busy.
  bool device_beside_host = false;
  std::optional<LastScores> scores;
  /// The scores are of this moment, so that their epoch need not be said.
  bool just_evaluated = false;
};

/// The scores of the newest row, up to that epoch, that has any.
std::optional<LastScores> last_scores(const MetricsTable& table, double epochs_done);

/// "epoch 3/300 120/250  loss 2.345  ETA 1:02:03  AP50 0.512 AP 0.301 (epoch 2)  lr 0.0013  …".
std::string progress_text(const RunProgress& run);
/// "epoch 3/300" or, within it, "epoch 3/300 120/250"; "iteration 1200/6000" where that is the length.
std::string position_text(const TrainingStatus& run);
/// "evaluating 34/87 images"
std::string evaluation_text(int64_t done, int64_t images);

}  // namespace brightnet
