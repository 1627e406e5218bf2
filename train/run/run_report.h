// What a run leaves for people: metrics.csv, TensorBoard events, plots and pictures in its folder.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/loader/loader.h"
#include "train/evaluate/metrics.h"
#include "train/run/progress.h"
#include "train/run/report/metrics_csv.h"
#include "train/run/report/tensorboard.h"
#include "train/run/run_folder.h"

namespace brightnet {

/// An epoch in numbers.
struct EpochSummary {
  /// From 1.
  int epoch = 0;
  int64_t iteration = 0;
  EpochSums sums;
  LossTotals losses;
  float rate = 0;
  /// 0 where the loss is not scaled.
  float loss_scale = 0;
  /// nullptr when it was not evaluated.
  const Metrics* metrics = nullptr;
};

class RunReport {
 public:
  /// A new run's report, or, with `after_epoch` ≥ 0, the continuation of one whose last whole epoch that was.
  RunReport(const RunFolder& folder, std::vector<std::string> classes, int after_epoch, int64_t iteration);

  /// The first few batches of a run become train_batch0.jpg, ….
  void add_batch(const Batch& batch, int64_t number);
  void add_epoch(const EpochSummary& summary);
  /// The best weights so far gave these: pr_curve.png, confusion_matrix.png, val_pred*.jpg.
  void add_best(const Metrics& metrics, const Dataset& val, const std::vector<std::vector<ScoredBox>>& boxes,
                int64_t iteration);
  /// Draws results.png from all epochs.
  void finish();

 private:
  void plot();

  RunFolder folder_;
  std::vector<std::string> classes_;
  MetricsCsv csv_;
  TensorBoardWriter events_;
  std::chrono::steady_clock::time_point plotted_{};
};

}  // namespace brightnet
