// A run's report in its folder: metrics.csv, TensorBoard events, plots and pictures.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "data/loader/loader.h"
#include "train/evaluate/metrics.h"
#include "train/run/output_files.h"
#include "train/run/progress.h"
#include "train/run/report/metrics_csv.h"
#include "train/run/report/tensorboard.h"
#include "train/run/run_folder.h"

namespace brightnet {

/// The results of an epoch.
struct EpochSummary {
  /// From 1.
  int epoch = 0;
  int64_t iteration = 0;
  EpochSums sums;
  LossTotals losses;
  float rate = 0;
  /// 0 without loss scaling.
  float loss_scale = 0;
  /// nullptr when it was not evaluated.
  const Metrics* metrics = nullptr;
};

class RunReport {
 public:
  /// Starts a report, or, with `after_epoch` ≥ 0, continues one after that many complete epochs. `files`
  /// writes it and outlives it.
  RunReport(const RunFolder& folder, OutputFiles& files, std::vector<std::string> classes, int after_epoch,
            int64_t iteration);

  /// The first few batches of a run become train_batch0.jpg, ….
  void add_batch(const Batch& batch, int64_t number);
  void add_epoch(const EpochSummary& summary);
  /// Results of the best weights so far: pr_curve.png, confusion_matrix.png, val_pred*.jpg.
  void add_best(const Metrics& metrics, const Dataset& val, const std::vector<std::vector<ScoredBox>>& boxes,
                int64_t iteration);
  /// Draws results.png from all epochs.
  void finish();

 private:
  void plot();
  void write_picture(const std::string& name, const cv::Mat& picture);
  void write_table();
  void write_events();

  RunFolder folder_;
  OutputFiles& files_;
  std::vector<std::string> classes_;
  MetricsCsv csv_;
  TensorBoardWriter events_;
  std::chrono::steady_clock::time_point plotted_{};
};

}  // namespace brightnet
