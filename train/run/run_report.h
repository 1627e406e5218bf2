// A run's report in its folder: metrics.csv, TensorBoard events, plots and pictures.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "data/loader/loader.h"
#include "train/evaluate/metrics.h"
#include "train/run/epoch_summary.h"
#include "train/run/output_files.h"
#include "train/run/progress_text.h"
#include "train/run/report/metrics_csv.h"
#include "train/run/report/tensorboard.h"
#include "train/run/report/thinning.h"
#include "train/run/run_folder.h"

namespace brightnet {

/// Training since the last point, within an epoch.
struct TrainingPoint {
  int64_t iteration = 0;
  EpochSums sums;
  LossTotals losses;
  float rate = 0;
};

class RunReport {
 public:
  /// Starts a report, or, with `after_epoch` ≥ 0, continues one after that many epochs (MetricsCsv). `files`
  /// writes it and outlives it.
  RunReport(const RunFolder& folder, OutputFiles& files, std::vector<std::string> classes, double after_epoch,
            int64_t iteration);

  /// The run's configuration, as a text of the TensorBoard events.
  void add_configuration(const std::string& yaml, int64_t iteration);

  /// The first few batches of a run become train_batch0.jpg, ….
  void add_batch(const Batch& batch, int64_t number);
  void add_epoch(const EpochSummary& summary);
  /// A point of the training's curves in TensorBoard. In a long run only every second, fourth, … is written.
  void add_point(const TrainingPoint& point);
  /// Of the newest row of metrics.csv that has any.
  std::optional<LastScores> last_scores() const;
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
  Thinning pictures_, points_;
  std::chrono::steady_clock::time_point plotted_{};
};

}  // namespace brightnet
