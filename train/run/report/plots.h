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

/// A line of a plot, in the order of x.
struct Curve {
  std::string name;
  std::vector<double> x, y;
};

/// One plot in a grid: lines that share their axes.
struct PlotPanel {
  std::string title;
  std::vector<Curve> curves;
  /// Drawn on a logarithmic scale when it falls by more than a factor of 20.
  bool loss = false;
};

/// Panels over the same horizontal axis. A curve has the same colour in each panel: that of its place there.
cv::Mat plot_panels(const std::vector<PlotPanel>& panels, const std::string& x_name);

/// Precision over recall at IoU 0.5: a thin line per class (named up to ten classes), and their mean.
cv::Mat plot_precision_recall(const Metrics& metrics);

/// The confusion matrix, each column (true class) normalized to 1; with numbers if cells are large enough.
cv::Mat plot_confusion(const Metrics& metrics);

}  // namespace brightnet
