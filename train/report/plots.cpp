#include "train/report/plots.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "data/drawing/axes.h"
#include "data/drawing/typeface.h"

namespace brightnet {
namespace {

/// Ticks at whole numbers, without empty space to the left and right of the data.
Axis whole_number_axis(double first, double last) {
  last = std::max(last, first + 1);
  Axis axis = Axis::linear(first, last, 5);
  axis.low = first;
  axis.high = last;
  axis.step = std::max(1.0, axis.step);
  std::erase_if(axis.ticks, [&](double tick) {
    return tick < axis.low - 1e-9 || tick > axis.high + 1e-9 || tick != std::round(tick);
  });
  return axis;
}

/// The smallest and the largest coordinate of all curves; low > high where there are no points.
struct Extent {
  double low = INFINITY, high = -INFINITY;
};

Extent extent_of(std::span<const PlotPanel> panels, std::vector<double> Curve::*coordinate) {
  Extent extent;
  for (const PlotPanel& panel : panels) {
    for (const Curve& curve : panel.curves) {
      for (const double value : curve.*coordinate) {
        extent.low = std::min(extent.low, value);
        extent.high = std::max(extent.high, value);
      }
    }
  }
  return extent;
}

Axis value_axis(const PlotPanel& panel) {
  const auto [low, high] = extent_of({&panel, 1}, &Curve::y);
  if (!(low <= high)) return Axis::linear(0, 1, 5);
  if (is_logarithmic(panel)) return Axis::log(low, high);
  return Axis::linear(low >= 0 ? 0 : low, high, 5);
}

cv::Scalar color_of(const PlotPanel& panel, size_t curve) {
  const int own = panel.curves[curve].color;
  return line_color(own >= 0 ? static_cast<size_t>(own) : curve);
}

void draw_points(const Plot& plot, const Curve& curve, Better better, const cv::Scalar& color) {
  std::vector<cv::Point2d> points;
  for (size_t i = 0; i < curve.y.size(); ++i) points.push_back(plot.at(curve.x[i], curve.y[i]));
  plot.canvas.polyline(points, color, 1.8);
  if (points.size() * 12 < static_cast<size_t>(plot.area.width)) {
    for (const cv::Point2d& point : points) plot.canvas.dot(point, 2.4, color);
  }
  if (const int best = best_of(curve, better); best >= 0) {
    plot.canvas.dot(points[best], 5, color);
    plot.canvas.dot(points[best], 2.6, {255, 255, 255});
  }
}

constexpr double letter_size = 8.5, row = 17;

/// A row for each line: its name, and its best and last value below their headings.
double draw_legend(Canvas& canvas, cv::Point2d corner, double width, const PlotPanel& panel) {
  constexpr double sample = 16, gap = 6, number = 62;
  const double right = corner.x + width;
  cv::Point2d at = corner;
  if (panel.better != Better::neither)
    canvas.text("best", {right - number, corner.y - row}, letter_size - 1, gray, Align::right);
  canvas.text("last", {right, corner.y - row}, letter_size - 1, gray, Align::right);
  for (size_t i = 0; i < panel.curves.size(); ++i) {
    const Curve& curve = panel.curves[i];
    canvas.line(at, {at.x + sample, at.y}, color_of(panel, i), 2.4);
    canvas.text(shortened(curve.name, (width - sample - gap - 2 * number) * Canvas::density,
                          letter_size * Canvas::density),
                {at.x + sample + gap, at.y}, letter_size, ink);
    if (const int best = best_of(curve, panel.better); best >= 0) {
      canvas.text(fmt::format("{:.3g}", curve.y[best]), {right - number, at.y}, letter_size, ink,
                  Align::right, true);
    }
    canvas.text(curve.y.empty() ? "–" : fmt::format("{:.3g}", curve.y.back()), {right, at.y}, letter_size,
                ink, Align::right);
    at.y += row;
  }
  return at.y - corner.y;
}

void mark_best_epoch(const Plot& plot, int epoch) {
  if (epoch < plot.x.low || epoch > plot.x.high) return;
  const double x = plot.at(epoch, plot.y.low).x;
  plot.canvas.dashes({x, plot.area.y}, {x, plot.area.y + plot.area.height}, gray, 1);
  const bool late = x > plot.area.x + plot.area.width / 2;
  plot.canvas.text(fmt::format("best epoch {}", epoch), {x + (late ? 4 : -4), plot.area.y - 7},
                   letter_size - 1, gray, late ? Align::right : Align::left);
}

void draw_panel(Canvas& canvas, const cv::Rect2d& place, const PlotPanel& panel, const Axis& x,
                const std::string& x_name, int best_epoch) {
  const double left = place.x + 62, width = place.width - 86;
  canvas.text(panel.title, {left, place.y + 20}, 11, ink, Align::left, true);
  const double top = 54 + draw_legend(canvas, {left, place.y + 44}, width, panel);
  const Plot plot{canvas, {left, place.y + top, width, place.height - 46 - top}, x, value_axis(panel)};
  plot.draw_grid(letter_size);
  std::string below = is_logarithmic(panel) ? x_name + "  (vertical scale logarithmic)" : x_name;
  if (!panel.note.empty()) below += "; " + panel.note;
  canvas.text(shortened(below, place.width * Canvas::density, letter_size * Canvas::density),
              {plot.area.x + plot.area.width / 2, place.y + place.height - 10}, letter_size, gray,
              Align::center);
  for (const double epoch : panel.grew) {
    const double across = plot.at(epoch, plot.y.low).x;
    plot.canvas.line({across, plot.area.y}, {across, plot.area.y + plot.area.height}, {190, 198, 208}, 1);
  }
  if (best_epoch > 0) mark_best_epoch(plot, best_epoch);
  for (size_t i = 0; i < panel.curves.size(); ++i)
    draw_points(plot, panel.curves[i], panel.better, color_of(panel, i));
}

}  // namespace

cv::Scalar line_color(size_t number) {
  static const cv::Scalar colors[line_colors] = {
      {0, 114, 178},  {213, 94, 0},   {0, 158, 115},  {204, 121, 167}, {200, 140, 0},
      {86, 180, 233}, {120, 94, 240}, {150, 110, 60}, {220, 50, 80},   {100, 100, 100}};
  return colors[number % line_colors];
}

int best_of(const Curve& curve, Better better) {
  const auto first = std::upper_bound(curve.x.begin(), curve.x.end(), curve.comparable_after);
  const auto from = curve.y.begin() + (first - curve.x.begin());
  if (from == curve.y.end() || better == Better::neither) return -1;
  const auto best =
      better == Better::lower ? std::min_element(from, curve.y.end()) : std::max_element(from, curve.y.end());
  return static_cast<int>(best - curve.y.begin());
}

bool is_logarithmic(const PlotPanel& panel) {
  const auto [low, high] = extent_of({&panel, 1}, &Curve::y);
  return panel.better == Better::lower && low > 0 && high / low > 10;
}

cv::Mat plot_panels(const std::vector<PlotPanel>& panels, const std::string& x_name, int best_epoch) {
  constexpr int width = 440, height = 330;
  const auto [first, last] = extent_of(panels, &Curve::x);
  const Axis x = first <= last ? whole_number_axis(std::floor(first), last) : Axis::linear(0, 1, 5);
  const int count = std::max(1, static_cast<int>(panels.size()));
  const int columns = count <= 4 ? std::min(count, 2) : count <= 6 || count == 9 ? 3 : 4;
  Canvas canvas(columns * width + 20, (count + columns - 1) / columns * height + 20);
  for (int i = 0; i < static_cast<int>(panels.size()); ++i) {
    const cv::Rect2d place(10 + i % columns * width, 10 + i / columns * height, width, height);
    draw_panel(canvas, place, panels[i], x, x_name, best_epoch);
  }
  return canvas.finish();
}

}  // namespace brightnet
