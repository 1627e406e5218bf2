#include <algorithm>

#include <fmt/format.h>

#include "data/drawing/axes.h"
#include "tune/search_report.h"

namespace brightnet {
namespace {

constexpr int panel_width = 440, panel_height = 300;
const cv::Scalar trial_color(0, 114, 178), best_color(213, 94, 0);

/// The values of one key in the trials that did not fail, and their scores.
struct KeyPoints {
  std::vector<double> values, scores;
};

KeyPoints points_of(const std::vector<Trial>& trials, size_t key) {
  KeyPoints points;
  for (const Trial& trial : trials) {
    if (!trial.failure.empty()) continue;
    points.values.push_back(trial.values[key]);
    points.scores.push_back(trial.score);
  }
  return points;
}

/// Logarithmic for a factor whose values span more than a factor of 3.
Axis axis_of(const TunedKey& key, const std::vector<double>& values) {
  if (values.empty()) return Axis::linear(0, 1, 5);
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const bool ratio = is_ratio(key.kind) && *low > 0 && *high / *low > 3;
  return ratio ? Axis::log(*low, *high) : Axis::linear(*low, *high, 4);
}

/// The plot need not begin at 0: a few hundredths between trials are what it is for.
Axis score_axis(const std::vector<double>& scores) {
  if (scores.empty()) return Axis::linear(0, 1, 5);
  const auto [low, high] = std::minmax_element(scores.begin(), scores.end());
  return Axis::linear(*low, *high, 4);
}

/// The best is drawn last, on top.
void draw_points(const Plot& plot, const std::vector<Trial>& trials, size_t key, const Trial* best) {
  for (const Trial& trial : trials) {
    if (trial.failure.empty() && trial.number > 0 && &trial != best)
      plot.canvas.dot(plot.at(trial.values[key], trial.score), 3.5, trial_color);
  }
  if (!trials.empty() && trials.front().number == 0 && trials.front().failure.empty())
    plot.canvas.dot(plot.at(trials.front().values[key], trials.front().score), 5, ink);
  if (best) plot.canvas.dot(plot.at(best->values[key], best->score), 5, best_color);
}

void draw_panel(Canvas& canvas, cv::Point2d corner, const TunedKey& key, const KeyPoints& points,
                const std::vector<Trial>& trials, size_t index, const Trial* best) {
  const Plot plot{canvas,
                  {corner.x + 62, corner.y + 40, panel_width - 92, panel_height - 84},
                  axis_of(key, points.values),
                  score_axis(points.scores)};
  canvas.text(std::string(key.name), {corner.x + 62, corner.y + 20}, 12, ink, Align::left, true);
  if (best) {
    canvas.text(fmt::format("best {}", tuned_text(best->values[index])),
                {plot.area.x + plot.area.width, corner.y + 20}, 9, best_color, Align::right);
  }
  plot.draw_grid(8.5);
  draw_points(plot, trials, index, best);
}

/// What the colours mean.
void draw_legend(Canvas& canvas, const std::string& score) {
  double x = 72;
  const auto entry = [&](const cv::Scalar& color, double radius, const std::string& words) {
    canvas.dot({x, 20}, radius, color);
    canvas.text(words, {x + 12, 20}, 10, ink);
    x += 12 + Canvas::text_width(words, 10) + 28;
  };
  canvas.text(score, {16, 20}, 11, ink, Align::left, true);
  entry(ink, 5, "the configuration");
  entry(trial_color, 3.5, "a trial");
  entry(best_color, 5, "the best trial");
}

}  // namespace

cv::Mat plot_search(const SearchSetup& setup, const std::vector<Trial>& trials) {
  constexpr int top = 36;
  const int count = static_cast<int>(setup.keys.size());
  const int columns = count <= 4 ? std::max(1, std::min(count, 2)) : count <= 9 ? 3 : 4;
  const int rows = (count + columns - 1) / columns;
  Canvas canvas(columns * panel_width + 20, rows * panel_height + top + 10);
  draw_legend(canvas, std::string(enum_name(setup.best_by)));
  const Trial* best = best_of(trials);
  for (int i = 0; i < count; ++i) {
    const auto index = static_cast<size_t>(i);
    const cv::Point2d corner(10 + i % columns * panel_width, top + i / columns * panel_height);
    draw_panel(canvas, corner, setup.keys[index], points_of(trials, index), trials, index, best);
  }
  return canvas.finish();
}

}  // namespace brightnet
