// Curves over the epochs of a run: results.png, and the panels of report.html and of `brightnet compare`.
// Pictures are RGB, for write_image().
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

#include "train/report/metrics_csv.h"

namespace brightnet {

/// A line of a plot, in the order of x.
struct Curve {
  std::string name;
  std::vector<double> x, y;
  /// An index of line_color(); −1: the one of its place in the panel.
  int color = -1;
  /// Values up to here compete with none after it: they are of smaller inputs (train.grow).
  double comparable_after = -INFINITY;
};

/// Whether the lower or the higher values of a curve are the better ones.
enum class Better : uint8_t { neither, lower, higher };

/// One plot in a grid: lines that share their axes.
struct PlotPanel {
  std::string title;
  std::vector<Curve> curves;
  /// Losses (lower) are drawn on a logarithmic scale when they fall by more than a factor of 10.
  Better better = Better::neither;
  /// The epochs at which the input grew.
  std::vector<double> grew = {};
  /// A note, below the axis, on what a reader may wonder about; empty: none.
  std::string note = {};
};

/// Colours of lines, distinguishable for the colour-blind (Okabe and Ito).
cv::Scalar line_color(size_t number);
inline constexpr size_t line_colors = 10;

/// The index of a curve's best comparable value; −1: it has none.
int best_of(const Curve& curve, Better better);
/// Whether a panel is drawn on a logarithmic scale.
bool is_logarithmic(const PlotPanel& panel);

/// The panels of a run, from those columns of its metrics.csv that are there: each part of the loss in
/// training and on the validation split, AP, precision and recall, the classes' AP, learning rate. A validation loss that
/// rises by much within `settling_epochs` is explained.
std::vector<PlotPanel> results_panels(const MetricsTable& table, double settling_epochs = 0);

/// Panels over the same horizontal axis, with the best and last value of each curve. A curve has the same
/// colour in each panel. `best_epoch` is marked in all of them; 0: none.
cv::Mat plot_panels(const std::vector<PlotPanel>& panels, const std::string& x_name, int best_epoch = 0);

}  // namespace brightnet
