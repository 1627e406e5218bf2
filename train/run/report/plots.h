// The pictures of a run: results.png, pr_curve.png, confusion_matrix.png. All return RGB for write_image().
#pragma once

#include <string>
#include <vector>

#include <opencv2/core.hpp>

#include "train/evaluate/metrics.h"
#include "train/run/report/metrics_csv.h"

namespace brightnet {

/// One small plot of results.png: which columns of metrics.csv it shows, as lines over the epochs.
struct ResultsPanel {
  std::string title;
  /// Those that the table lacks are left out.
  std::vector<std::string> columns;
  /// Drawn on a logarithmic scale when it falls by more than a factor of 20.
  bool loss = false;
};

/// A grid of small plots over the epochs.
cv::Mat plot_results(const MetricsTable& table, const std::vector<ResultsPanel>& panels);

/// Precision over recall at IoU 0.5: one thin line a class (named up to ten classes), and their mean.
cv::Mat plot_precision_recall(const Metrics& metrics);

/// The confusion matrix, each column (true class) normalised to 1; with numbers where they are readable.
cv::Mat plot_confusion(const Metrics& metrics);

}  // namespace brightnet
