// A row of a run's metrics: an epoch, or an evaluation within one, as metrics.csv and TensorBoard have it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "detect/evaluate/metrics.h"
#include "train/run/progress.h"

namespace brightnet {

/// The results of an epoch.
struct EpochSummary {
  /// Epochs done: a whole number at the end of one, 2.4 after 0.4 of the third.
  double epoch = 0;
  int64_t iteration = 0;
  /// Height of the input in evaluations, in pixels.
  int input_height = 0;
  /// The sums of the epoch so far.
  EpochSums sums = {};
  LossTotals losses = {};
  float rate = 0;
  /// Loss scale; 0 without loss scaling.
  float loss_scale = 0;
  /// The metrics of the epoch; nullptr when it was not evaluated.
  const Metrics* metrics = nullptr;
  /// Times and speeds are those of whole epochs: not of an evaluation within one.
  bool whole = true;
};

/// The columns of metrics.csv after the epoch, for these classes. `taught`: whether the run has a teacher.
std::vector<std::string> metric_columns(const std::vector<std::string>& classes, bool taught = false);
/// A value for each of the columns; NaN: not measured.
std::vector<double> metric_values(const EpochSummary& summary, size_t classes, bool taught = false);
/// The name of a column's curve in TensorBoard: "train/loss", "val/AP", "val_AP/bolt".
std::string curve_name(const std::string& column);
/// Whether the column is of the validation split.
bool is_of_validation(const std::string& column);

}  // namespace brightnet
