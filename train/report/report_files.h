// A run's report in its folder: metrics.csv, TensorBoard events, plots, pictures and report.html.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/loader/loader.h"
#include "detect/evaluate/metrics.h"
#include "train/report/epoch_summary.h"
#include "train/report/metrics_csv.h"
#include "train/report/run_page.h"
#include "train/report/tensorboard.h"
#include "train/report/thinning.h"
#include "train/run/best_effort.h"
#include "train/run/output_files.h"
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
  /// writes it, under `best_effort`: once it is there, no error of it reaches the caller. Both outlive it.
  /// `first_step`: the next step's number, from 1; what TensorBoard's events have from there on is no longer shown.
  /// `earlier_best`: what an earlier process of the run has found best; nullptr: nothing.
  RunReport(const RunFolder& folder, OutputFiles& files, BestEffort& best_effort, RunDescription run,
            double after_epoch, int best_epoch, int64_t first_step, const Metrics* earlier_best = nullptr);

  /// The run's configuration, as a text of the TensorBoard events.
  void add_configuration(const std::string& yaml, int64_t iteration);

  /// Draws labels.jpg, of the training images.
  void add_labels(const Dataset& train);
  /// The first few batches of a run become train_batch0.jpg, ….
  void add_batch(const Batch& batch, int64_t number);
  void add_epoch(const EpochSummary& summary);
  /// A point of the training's curves in TensorBoard. In a long run only every second, fourth, … is written.
  void add_point(const TrainingPoint& point);
  /// Results of the best weights so far, of this epoch: the pictures of evaluation_pictures.h. `val` outlives
  /// the report.
  void add_best(const Metrics& metrics, const Dataset& val, int epoch, int64_t iteration);
  /// Draws results.png and report.html from all epochs, and what add_best() has left to draw. Before, they are drawn
  /// every 20 seconds at most, and not in the first 20 seconds.
  void plot();
  /// plot(), where an epoch or better results have come since.
  void plot_rest();
  /// plot() at the end of the run. `sentences` are its closing words.
  void finish(std::vector<std::string> sentences = {});

 private:
  bool plot_due() const;
  void read_page();
  void picture_batch(const Batch& batch, int64_t number);
  void picture_best();
  void write_row(const EpochSummary& summary);
  void write_point(const TrainingPoint& point);
  void draw_best();
  void write_page();
  void write_picture(const std::string& name, const cv::Mat& picture);
  void write_table();
  void write_events();

  RunFolder folder_;
  OutputFiles& files_;
  BestEffort& best_effort_;
  RunDescription run_;
  MetricsCsv csv_;
  TensorBoardWriter events_;
  Thinning pictures_, points_;
  /// The standing of the run that the page shows; its curves are those of csv_.
  RunStanding standing_;
  std::optional<Metrics> best_, earlier_best_;
  const Dataset* val_ = nullptr;
  bool best_is_drawn_ = true, curves_are_drawn_ = false, all_is_drawn_ = true;
  /// The page of the run before it was resumed, and the sections of pictures.
  Page before_{"", ""};
  std::vector<Json> train_pictures_, val_pictures_, label_pictures_;
  double plotted_;  ///< seconds_now() of the last drawing; the report's start, where there was none
};

}  // namespace brightnet
