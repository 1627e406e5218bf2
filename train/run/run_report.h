// A run's report in its folder: metrics.csv, TensorBoard events, plots, pictures and report.html.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "data/loader/loader.h"
#include "train/evaluate/metrics.h"
#include "train/evaluate/worst_images.h"
#include "train/run/output_files.h"
#include "train/run/progress.h"
#include "train/run/report/metrics_csv.h"
#include "train/run/report/tensorboard.h"
#include "train/run/run_folder.h"
#include "train/run/run_page.h"

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
  RunReport(const RunFolder& folder, OutputFiles& files, RunDescription run, int after_epoch, int best_epoch,
            int64_t iteration);

  /// The first few batches of a run become train_batch0.jpg, ….
  void add_batch(const Batch& batch, int64_t number);
  void add_epoch(const EpochSummary& summary);
  /// Results of the best weights so far, of this epoch: the pictures of evaluation_pictures.h.
  void add_best(const Metrics& metrics, const Dataset& val, const WorstImages& worst, int epoch,
                int64_t iteration);
  /// Draws results.png and report.html from all epochs. `sentences` are the run's closing words.
  void finish(std::vector<std::string> sentences = {});

 private:
  void plot();
  void write_page();
  void write_picture(const std::string& name, const cv::Mat& picture);
  void write_table();
  void write_events();

  RunFolder folder_;
  OutputFiles& files_;
  RunDescription run_;
  MetricsCsv csv_;
  TensorBoardWriter events_;
  /// What the page shows; its curves are those of csv_.
  RunStanding standing_;
  std::optional<Metrics> best_;
  /// The page of the run before it was resumed, and the sections of pictures.
  Page before_{"", ""};
  std::vector<Json> train_pictures_, val_pictures_;
  std::chrono::steady_clock::time_point plotted_{};
};

}  // namespace brightnet
