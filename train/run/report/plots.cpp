#include "train/run/report/plots.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "train/run/report/axes.h"
#include "train/run/report/draw.h"
#include "train/run/report/letters.h"

namespace brightnet {
namespace {

/// Line colours of a plot, distinguishable for the colour-blind (Okabe and Ito).
const cv::Scalar line_colors[] = {{0, 114, 178}, {213, 94, 0},   {0, 158, 115},  {204, 121, 167},
                                  {230, 159, 0}, {86, 180, 233}, {120, 94, 240}, {150, 110, 60},
                                  {220, 50, 80}, {100, 100, 100}};
constexpr int line_color_count = static_cast<int>(std::size(line_colors));

/// The measured values of one column, in order of epochs.
Curve curve_of(const MetricsTable& table, int column) {
  Curve curve{table.columns[column], {}, {}};
  for (const std::vector<double>& row : table.rows) {
    if (!std::isfinite(row[column])) continue;
    curve.x.push_back(row[0]);
    curve.y.push_back(row[column]);
  }
  return curve;
}

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

Axis value_axis(const std::vector<Curve>& all, bool loss) {
  double low = INFINITY, high = -INFINITY;
  for (const Curve& curve : all) {
    for (double value : curve.y) {
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  if (!(low <= high)) return Axis::linear(0, 1, 5);
  if (loss && low > 0 && high / low > 20) return Axis::log(low, high);
  return Axis::linear(low >= 0 ? 0 : low, high, 5);
}

void draw_points(const Plot& plot, const Curve& curve, const cv::Scalar& color) {
  std::vector<cv::Point2d> points;
  for (size_t i = 0; i < curve.y.size(); ++i) points.push_back(plot.at(curve.x[i], curve.y[i]));
  plot.canvas.polyline(points, color, 1.8);
  if (points.size() * 12 < static_cast<size_t>(plot.area.width)) {
    for (const cv::Point2d& point : points) plot.canvas.dot(point, 2.6, color);
  }
}

/// Draws "name 0.873" (the last value) for each line, in as many rows as needed; returns the height.
double draw_legend(Canvas& canvas, cv::Point2d corner, double width, const std::vector<Curve>& all) {
  constexpr double letters = 8.5, row = 18, sample = 16, gap = 5;
  cv::Point2d at = corner;
  for (size_t i = 0; i < all.size(); ++i) {
    const std::string words =
        all[i].y.empty() ? all[i].name : fmt::format("{} {:.3g}", all[i].name, all[i].y.back());
    const double entry = sample + gap + Canvas::text_width(words, letters);
    if (at.x > corner.x && at.x + entry > corner.x + width) at = {corner.x, at.y + row};
    canvas.line(at, {at.x + sample, at.y}, line_colors[i % line_color_count], 2.4);
    canvas.text(words, {at.x + sample + gap, at.y}, letters, ink);
    at.x += entry + 16;
  }
  return at.y - corner.y + row;
}

void draw_panel(Canvas& canvas, const cv::Rect2d& place, const PlotPanel& panel, const Axis& x,
                const std::string& x_name) {
  const std::vector<Curve>& all = panel.curves;
  canvas.text(panel.title, {place.x + 58, place.y + 18}, 12, ink, Align::left, true);
  const double top = 40 + draw_legend(canvas, {place.x + 58, place.y + 40}, place.width - 80, all);
  const Plot plot{canvas,
                  {place.x + 58, place.y + top, place.width - 80, place.height - 46 - top},
                  x,
                  value_axis(all, panel.loss)};
  plot.draw_grid(8.5);
  canvas.text(x_name, {plot.area.x + plot.area.width / 2, place.y + place.height - 12}, 8.5, gray,
              Align::center);
  for (size_t i = 0; i < all.size(); ++i) draw_points(plot, all[i], line_colors[i % line_color_count]);
}

/// Panels in a grid, with a common horizontal axis.
cv::Mat draw_panels(const std::vector<PlotPanel>& panels, const Axis& x, const std::string& x_name) {
  constexpr int width = 440, height = 320;
  const int count = std::max(1, static_cast<int>(panels.size()));
  const int columns = count <= 4 ? std::min(count, 2) : count <= 9 ? 3 : 4;
  Canvas canvas(columns * width + 20, (count + columns - 1) / columns * height + 20);
  for (int i = 0; i < static_cast<int>(panels.size()); ++i) {
    const cv::Rect2d place(10 + i % columns * width, 10 + i / columns * height, width, height);
    draw_panel(canvas, place, panels[static_cast<size_t>(i)], x, x_name);
  }
  return canvas.finish();
}

void draw_curve(const Plot& plot, const PrecisionCurve& curve, const cv::Scalar& color, double width) {
  std::vector<cv::Point2d> points;
  for (size_t i = 0; i < curve.size(); ++i) points.push_back(plot.at(static_cast<double>(i) / 100, curve[i]));
  plot.canvas.polyline(points, color, width);
}

/// White for 0 to dark blue for 1.
cv::Scalar heat(double share) {
  static const cv::Scalar stops[] = {
      {255, 255, 255}, {198, 219, 239}, {107, 174, 214}, {33, 113, 181}, {8, 48, 107}};
  const double at = std::clamp(share, 0.0, 1.0) * 4;
  const int i = std::min(3, static_cast<int>(at));
  return stops[i] * (1 - (at - i)) + stops[i + 1] * (at - i);
}

/// The text shortened to at most `width` pixels, ending in two dots if cut.
std::string shortened(const std::string& words, double width, double letters) {
  std::string text = drawable(words);
  if (Canvas::text_width(text, letters) <= width) return text;
  while (!text.empty() && Canvas::text_width(text + "..", letters) > width) text.pop_back();
  return text + "..";
}

}  // namespace

cv::Mat plot_results(const MetricsTable& table, const std::vector<ResultsPanel>& panels) {
  std::vector<PlotPanel> drawn;
  for (const ResultsPanel& panel : panels) {
    PlotPanel& one = drawn.emplace_back(PlotPanel{panel.title, {}, panel.loss});
    for (const std::string& name : panel.columns) {
      if (const int column = table.column(name); column >= 0) one.curves.push_back(curve_of(table, column));
    }
  }
  const Axis x = table.rows.empty() ? Axis::linear(0, 1, 5)
                                    : whole_number_axis(table.rows.front()[0], table.rows.back()[0]);
  return draw_panels(drawn, x, "epoch");
}

cv::Mat plot_panels(const std::vector<PlotPanel>& panels, const std::string& x_name) {
  double first = INFINITY, last = -INFINITY;
  for (const PlotPanel& panel : panels) {
    for (const Curve& curve : panel.curves) {
      for (const double x : curve.x) {
        first = std::min(first, x);
        last = std::max(last, x);
      }
    }
  }
  return draw_panels(
      panels, first <= last ? whole_number_axis(std::floor(first), last) : Axis::linear(0, 1, 5), x_name);
}

cv::Mat plot_precision_recall(const Metrics& metrics) {
  std::vector<const ClassMetrics*> shown;
  for (const ClassMetrics& c : metrics.per_class) {
    if (c.truths > 0) shown.push_back(&c);
  }
  const bool named = shown.size() <= static_cast<size_t>(line_color_count);
  Canvas canvas(980, 720);
  const Plot plot{canvas, {80, 60, 600, 580}, Axis::linear(0, 1, 5), Axis::linear(0, 1, 5)};
  canvas.text("Precision and recall at IoU 0.5", {80, 30}, 14, ink, Align::left, true);
  plot.draw_grid(11);
  canvas.text("recall", {380, 690}, 12, ink, Align::center);
  canvas.text_upward("precision", {24, 350}, 12, ink);

  cv::Point2d legend(710, 76);
  const auto entry = [&](const std::string& name, double AP50, const cv::Scalar& color, double width) {
    canvas.line(legend, {legend.x + 26, legend.y}, color, width);
    canvas.text(shortened(name, 150, 11), {legend.x + 36, legend.y}, 11, ink);
    canvas.text(AP50 == no_truths ? "-" : fmt::format("{:.3f}", AP50), {960, legend.y}, 11, ink,
                Align::right);
    legend.y += 28;
  };
  canvas.text("AP50", {960, 50}, 10, gray, Align::right);
  for (size_t i = 0; i < shown.size(); ++i) {
    const cv::Scalar color = named ? line_colors[i] : cv::Scalar(190, 198, 208);
    draw_curve(plot, shown[i]->curve, color, named ? 1.8 : 1);
    const auto class_id = static_cast<int>(shown[i] - metrics.per_class.data());
    if (named) entry(drawable_name(shown[i]->name, class_id), shown[i]->AP50, color, 2.4);
  }
  if (!shown.empty()) draw_curve(plot, metrics.curve, ink, 3.2);
  entry(fmt::format("all {} classes", shown.size()), metrics.AP50, ink, 3.2);
  return canvas.finish();
}

cv::Mat plot_confusion(const Metrics& metrics) {
  const ConfusionMatrix& matrix = metrics.confusion;
  const int size = matrix.classes + 1;
  const double cell = std::clamp(900.0 / size, 1.0, 90.0);
  const double letters = std::clamp(cell * 0.55, 4.0, 12.0);
  const bool labels = cell >= 9, numbers = cell >= 30;
  const double margin = labels ? 170 : 80;
  const double side = cell * size;
  const cv::Rect2d area(margin, 56, side, side);
  Canvas canvas(static_cast<int>(std::max(margin + side + 90, 560.0)), static_cast<int>(56 + side + margin));
  canvas.text("Confusion matrix: columns sum to 1", {20, 26}, 13, ink, Align::left, true);

  for (int truth = 0; truth < size; ++truth) {
    int64_t total = 0;
    for (int predicted = 0; predicted < size; ++predicted) total += matrix.at(predicted, truth);
    for (int predicted = 0; predicted < size; ++predicted) {
      const double share =
          total > 0 ? static_cast<double>(matrix.at(predicted, truth)) / static_cast<double>(total) : 0;
      const cv::Rect2d box(area.x + truth * cell, area.y + predicted * cell, cell, cell);
      canvas.fill(box, heat(share));
      if (numbers && share >= 0.005) {
        canvas.text(fmt::format("{:.2f}", share), (box.tl() + box.br()) / 2, std::min(12.0, cell * 0.22),
                    share > 0.5 ? cv::Scalar(255, 255, 255) : ink, Align::center);
      }
    }
  }
  for (int i = 0; i <= size && cell >= 14; ++i) {
    canvas.line({area.x + i * cell, area.y}, {area.x + i * cell, area.y + side}, faint, 1);
    canvas.line({area.x, area.y + i * cell}, {area.x + side, area.y + i * cell}, faint, 1);
  }
  canvas.frame(area, gray, 1);
  for (int i = 0; i < size && labels; ++i) {
    const std::string name = i < matrix.classes ? drawable_name(metrics.per_class[i].name, i) : "background";
    const std::string text = shortened(name, 120, letters);
    canvas.text(text, {area.x - 8, area.y + (i + 0.5) * cell}, letters, ink, Align::right);
    canvas.text_upward(text, {area.x + (i + 0.5) * cell, area.y + side + 8}, letters, ink, Align::right);
  }
  // Too many classes for names: the numbers of some.
  int step = 10;
  while (step * cell < 40) step *= 2;
  for (int i = 0; i < matrix.classes && !labels; i += step) {
    const double middle = (i + 0.5) * cell;
    canvas.text(std::to_string(i), {area.x - 8, area.y + middle}, 9, ink, Align::right);
    canvas.text(std::to_string(i), {area.x + middle, area.y + side + 12}, 9, ink, Align::center);
  }
  canvas.text_upward("predicted", {22, area.y + side / 2}, 12, ink);
  canvas.text("true", {area.x + side / 2, area.y + side + margin - 18}, 12, ink, Align::center);

  const cv::Rect2d bar(area.x + side + 24, area.y, 16, std::min(side, 300.0));
  for (int i = 0; i < 100; ++i) {
    canvas.fill({bar.x, bar.y + bar.height * i / 100, bar.width, bar.height / 100 + 0.5}, heat(1 - i / 99.0));
  }
  canvas.frame(bar, gray, 1);
  for (double tick : {0.0, 0.5, 1.0}) {
    canvas.text(tick_label(tick, 0.5), {bar.x + 22, bar.y + bar.height * (1 - tick)}, 9, ink);
  }
  return canvas.finish();
}

}  // namespace brightnet
