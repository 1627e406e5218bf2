#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "data/drawing/axes.h"
#include "tune/rate_finder.h"

namespace brightnet {
namespace {

const cv::Scalar pale(160, 190, 215), blue(0, 114, 178), orange(213, 94, 0);

}  // namespace

cv::Mat plot_rates(const std::vector<RatePoint>& points, const std::optional<RateSuggestion>& suggestion) {
  Canvas canvas(900, 560);
  canvas.text("Loss over the first loss of the same batch, as the learning rate grows", {80, 26}, 13, ink,
              Align::left, true);
  std::vector<RatePoint> finite;
  for (const RatePoint& point : points) {
    if (std::isfinite(point.smoothed) && point.smoothed > 0 && point.loss > 0) finite.push_back(point);
  }
  if (finite.size() < 2) return canvas.finish();
  double low = finite[0].loss, high = finite[0].loss;
  for (const RatePoint& point : finite) {
    low = std::min(low, point.loss);
    high = std::max(high, point.loss);
  }
  const Plot plot{canvas,
                  {80, 70, 780, 420},
                  Axis::log(finite.front().rate, finite.back().rate),
                  high / low > 5 ? Axis::log(low, high) : Axis::linear(0, high, 5)};
  plot.draw_grid(10);
  canvas.text("learning rate", {470, 535}, 11, ink, Align::center);
  std::vector<cv::Point2d> losses, smoothed;
  for (const RatePoint& point : finite) {
    losses.push_back(plot.at(point.rate, point.loss));
    smoothed.push_back(plot.at(point.rate, point.smoothed));
  }
  canvas.polyline(losses, pale, 1.2);
  canvas.polyline(smoothed, blue, 2.4);
  canvas.text("pale: each step; blue: smoothed", {80, 50}, 9.5, gray);
  if (suggestion) {
    const double x = plot.at(suggestion->rate, plot.y.low).x;
    canvas.line({x, plot.area.y}, {x, plot.area.y + plot.area.height}, orange, 2);
    canvas.text(fmt::format("suggested {:g}", suggestion->rate), {860, 50}, 10, orange, Align::right, true);
  }
  return canvas.finish();
}

}  // namespace brightnet
