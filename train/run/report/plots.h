// The pictures of a run: results.png, pr_curve.png, confusion_matrix.png. All return RGB for write_image().
#pragma once

#include <string>
#include <vector>

#include <opencv2/core.hpp>

#include "train/evaluate/metrics.h"
#include "train/run/report/metrics_csv.h"

namespace brightnet {

/// One plot in the grid of results.png: lines over the epochs, one for each of these columns of metrics.csv.
struct ResultsPanel {
  std::string title;
  /// Columns missing from the table are omitted.
  std::vector<std::string> columns;
  /// Drawn on a logarithmic scale when it falls by more than a factor of 20.
  bool loss = false;
};

cv::Mat plot_results(const MetricsTable& table, const std::vector<ResultsPanel>& panels);

/// Precision over recall at IoU 0.5: a thin line per class (named up to ten classes), and their mean.
cv::Mat plot_precision_recall(const Metrics& metrics);

/// The confusion matrix, each column (true class) normalized to 1; with numbers if cells are large enough.
cv::Mat plot_confusion(const Metrics& metrics);

}  // namespace brightnet
