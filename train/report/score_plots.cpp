
#include <fmt/format.h>

#include "data/drawing/axes.h"
#include "data/drawing/typeface.h"
#include "train/report/evaluation_plots.h"
#include "train/report/plots.h"

namespace brightnet {
namespace {

const cv::Rect2d area(80, 76, 560, 540);
const cv::Scalar pale(190, 198, 208), marked(213, 40, 60);

/// One line: its points, and the number beside its name in the legend.
struct ScoreLine {
  std::string name, number;
  std::vector<cv::Point2d> points;
};

struct ScorePlot {
  std::string title, x_name, y_name, number_name;
  std::vector<ScoreLine> classes;
  ScoreLine mean;
  cv::Point2d best;
  std::string best_words;
};

void draw_line(const Plot& plot, const ScoreLine& line, const cv::Scalar& color, double width) {
  std::vector<cv::Point2d> points;
  for (const cv::Point2d& point : line.points) points.push_back(plot.at(point.x, point.y));
  plot.canvas.polyline(points, color, width);
}

void draw_best(const Plot& plot, const ScorePlot& what) {
  const cv::Point2d at = plot.at(what.best.x, what.best.y);
  plot.canvas.dashes({at.x, plot.area.y + plot.area.height}, at, marked, 1);
  plot.canvas.dashes({plot.area.x, at.y}, at, marked, 1);
  plot.canvas.dot(at, 6, marked);
  plot.canvas.dot(at, 3, {255, 255, 255});
}

cv::Mat draw(const ScorePlot& what) {
  constexpr double letters = 10, row = 25;
  const bool named = what.classes.size() <= line_colors;
  Canvas canvas(980, 690);
  const Plot plot{canvas, area, Axis::linear(0, 1, 5), Axis::linear(0, 1, 5)};
  canvas.text(what.title, {area.x, 30}, 13, ink, Align::left, true);
  canvas.text(what.best_words, {area.x, 54}, letters, marked);
  plot.draw_grid(letters);
  canvas.text(what.x_name, {area.x + area.width / 2, 662}, 11, ink, Align::center);
  canvas.text_upward(what.y_name, {26, area.y + area.height / 2}, 11, ink);
  cv::Point2d legend(668, 76 + row / 2);
  canvas.text(what.number_name, {950, 62}, 9, gray, Align::right);
  const auto entry = [&](const ScoreLine& line, const cv::Scalar& color, double width, bool bold) {
    canvas.line(legend, {legend.x + 24, legend.y}, color, width);
    canvas.text(shortened(line.name, 170 * Canvas::density, letters * Canvas::density, bold),
                {legend.x + 32, legend.y}, letters, ink, Align::left, bold);
    canvas.text(line.number, {950, legend.y}, letters, ink, Align::right, bold);
    legend.y += row;
  };
  entry(what.mean, ink, 3.2, true);
  for (size_t i = 0; i < what.classes.size(); ++i) {
    draw_line(plot, what.classes[i], named ? line_color(i) : pale, named ? 1.8 : 1);
    if (named) entry(what.classes[i], line_color(i), 2.4, false);
  }
  if (!named) canvas.text("thin lines: the single classes", {legend.x, legend.y}, letters, gray);
  if (!what.mean.points.empty()) {
    draw_line(plot, what.mean, ink, 3);
    draw_best(plot, what);
  }
  return canvas.finish();
}

double value_of(const ScoreCurves& curves, OverScore which, int point) {
  const auto at = static_cast<size_t>(point);
  switch (which) {
    case OverScore::f1: return curves.f1(point);
    case OverScore::precision: return curves.precision[at];
    case OverScore::recall: return curves.recall[at];
  }
  return 0;
}

double value_of(const OperatingPoint& best, OverScore which) {
  switch (which) {
    case OverScore::f1: return best.f1;
    case OverScore::precision: return best.precision;
    case OverScore::recall: return best.recall;
  }
  return 0;
}

const char* name_of(OverScore which) {
  switch (which) {
    case OverScore::f1: return "F1";
    case OverScore::precision: return "Precision";
    case OverScore::recall: return "Recall";
  }
  return "";
}

std::string all_classes(size_t count) {
  return count == 1 ? "the class" : fmt::format("mean of {} classes", count);
}

/// Calls `add` with each class that has ground truth.
template <typename Add>
size_t for_each_known(const Metrics& metrics, Add&& add) {
  size_t count = 0;
  for (size_t c = 0; c < metrics.per_class.size(); ++c) {
    if (metrics.per_class[c].truths == 0) continue;
    ++count;
    add(metrics.per_class[c], shown_name(metrics.per_class[c].name, static_cast<int>(c)));
  }
  return count;
}

std::string best_words(const OperatingPoint& best) {
  return fmt::format("best mean F1 {:.2f} at confidence {:.3f}: precision {:.2f}, recall {:.2f}", best.f1,
                     best.score, best.precision, best.recall);
}

}  // namespace

cv::Mat plot_precision_recall(const Metrics& metrics) {
  ScorePlot plot{"Precision over recall at IoU 0.5", "recall", "precision", "AP50", {}, {}, {}, ""};
  const auto points = [](const PrecisionCurve& curve) {
    std::vector<cv::Point2d> list;
    for (size_t i = 0; i < curve.size(); ++i) list.emplace_back(static_cast<double>(i) / 100, curve[i]);
    return list;
  };
  const size_t known = for_each_known(metrics, [&](const ClassMetrics& c, const std::string& name) {
    plot.classes.push_back({name, fmt::format("{:.3f}", c.AP50), points(c.curve)});
  });
  plot.mean = {all_classes(known), "–", {}};
  if (known == 0) return draw(plot);
  plot.mean = {all_classes(known), fmt::format("{:.3f}", metrics.AP50), points(metrics.curve)};
  const OperatingPoint best = metrics.best;
  plot.best = {best.recall, best.precision};
  plot.best_words = best_words(best);
  return draw(plot);
}

cv::Mat plot_over_score(const Metrics& metrics, OverScore which) {
  const char* const name = name_of(which);
  ScorePlot plot{fmt::format("{} over the confidence threshold, at IoU 0.5", name),
                 "confidence threshold",
                 name,
                 "",
                 {},
                 {},
                 {},
                 ""};
  const OperatingPoint best = metrics.best;
  plot.number_name = fmt::format("at {:.3f}", best.score);
  const auto at_best = static_cast<int>(std::lround(best.score * (ScoreCurves::points - 1)));
  std::vector<cv::Point2d> mean;
  for (int i = 0; i < ScoreCurves::points; ++i) mean.emplace_back(ScoreCurves::score(i), 0);
  const size_t known = for_each_known(metrics, [&](const ClassMetrics& c, const std::string& shown) {
    ScoreLine& line = plot.classes.emplace_back(
        ScoreLine{shown, fmt::format("{:.3f}", value_of(c.by_score, which, at_best)), {}});
    for (int i = 0; i < ScoreCurves::points; ++i) {
      const double value = value_of(c.by_score, which, i);
      line.points.emplace_back(ScoreCurves::score(i), value);
      mean[i].y += value;
    }
  });
  plot.mean = {all_classes(known), "–", {}};
  if (known == 0) return draw(plot);
  for (cv::Point2d& point : mean) point.y /= known;
  plot.best = {best.score, value_of(best, which)};
  plot.mean = {all_classes(known), fmt::format("{:.3f}", plot.best.y), mean};
  plot.best_words = best_words(best);
  return draw(plot);
}

}  // namespace brightnet
