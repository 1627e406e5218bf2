// report.html of a run: its scores, curves, pictures, data, machine and configuration on one page.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "detect/evaluate/metrics.h"
#include "train/report/page.h"

namespace brightnet {

/// The facts about a run that do not change while it trains.
struct RunDescription {
  std::string name;
  std::vector<std::string> classes;
  bool taught = false;  ///< whether it learns from a teacher
  /// The number of objects of each class in the training split.
  std::vector<int64_t> training_objects;
  /// The epochs in which batch-norm's running statistics settle: they follow those of the batches by 3 % a step, so that an
  /// evaluation before is of another network than trains.
  double settling_epochs = 0;
  /// Warnings about what makes the scores other than they seem.
  std::vector<std::string> warnings;
  Page::Pairs model, data, machine;
  /// A key, its value and why, of every value that was chosen automatically.
  std::vector<std::vector<std::string>> choices;
  /// The resolved configuration.
  std::string config;
};

/// How far the run is.
struct RunStanding {
  /// The rows that are drawn: in a long run not all of them.
  MetricsTable curves;
  TrainingTotals totals;
  /// Metrics of the best evaluation; nullptr: none in this process.
  const Metrics* best = nullptr;
  /// Those that the state of an earlier process has: scores alone, without curves, confusion matrix and images.
  const Metrics* earlier_best = nullptr;
  int best_epoch = 0;
  bool over = false;
  std::vector<std::string> sentences;
  /// Sections of the pictures (Page::section).
  std::vector<Json> pictures;
};

/// The page of a run. What `now` does not know, because an earlier process found it, is taken from `before`,
/// the run's last page.
Page run_page(const RunDescription& run, const RunStanding& now, const Page& before);

/// The page of an evaluation of weights.
Page evaluation_page(const std::string& title, const Metrics& metrics, const std::vector<Json>& pictures);

}  // namespace brightnet
