// The axes of a plot, with round ticks, on a linear or a logarithmic scale.
#pragma once

#include <string>
#include <vector>

#include "data/drawing/canvas.h"

namespace brightnet {

inline const cv::Scalar ink(45, 45, 45), faint(228, 228, 228), gray(130, 130, 130);

/// The scale and ticks along one side of a plot.
struct Axis {
  double low = 0, high = 1;
  bool logarithmic = false;
  std::vector<double> ticks;
  double step = 1;

  /// A linear axis. Both ends are ticks, and there are about `count` in all.
  static Axis linear(double low, double high, int count);
  /// A logarithmic axis. Both ends are 1, 2 or 5 times a power of ten; low must be positive.
  static Axis log(double low, double high);

  std::string label(double tick) const;
  /// The place of a value on the axis: 0 at the low end, 1 at the high end.
  double place(double value) const;
};

/// The inside of a plot and its two axes.
struct Plot {
  Canvas& canvas;
  cv::Rect2d area;
  Axis x, y;

  cv::Point2d at(double px, double py) const;
  /// Draws lines and numbers at the ticks; `letters` is the height of a number.
  void draw_grid(double letters) const;
};

}  // namespace brightnet
