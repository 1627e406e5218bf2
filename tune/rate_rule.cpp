#include "tune/rate_rule.h"

#include <algorithm>
#include <cmath>

namespace brightnet {
namespace {

constexpr double weight_kept = 0.9;
constexpr double diverged_at = 4;
constexpr double least_fall = 0.9;
constexpr double below_minimum = 3;

const RatePoint& least_of(const std::vector<RatePoint>& points) {
  return *std::min_element(points.begin(), points.end(),
                           [](const RatePoint& a, const RatePoint& b) { return a.smoothed < b.smoothed; });
}

double two_digits(double value) {
  const double power = std::pow(10.0, std::floor(std::log10(value)) - 1);
  return std::round(value / power) * power;
}

}  // namespace

double sweep_rate(double low, double high, int step, int steps) {
  return low * std::pow(high / low, static_cast<double>(step) / std::max(1, steps - 1));
}

void smooth_losses(std::vector<RatePoint>& points) {
  double sum = 0, weights = 0;
  for (RatePoint& point : points) {
    sum = weight_kept * sum + std::log(std::max(point.loss, 1e-12));
    weights = weight_kept * weights + 1;
    point.smoothed = std::exp(sum / weights);
  }
}

bool has_diverged(const std::vector<RatePoint>& points) {
  if (points.empty()) return false;
  const RatePoint& last = points.back();
  return !std::isfinite(last.loss) || last.smoothed > diverged_at * least_of(points).smoothed;
}

std::optional<RateSuggestion> suggest_rate(const std::vector<RatePoint>& points) {
  std::vector<RatePoint> finite;
  for (const RatePoint& point : points) {
    if (std::isfinite(point.smoothed)) finite.push_back(point);
  }
  if (finite.empty()) return std::nullopt;
  const RatePoint& least = least_of(finite);
  if (least.smoothed > least_fall * finite.front().smoothed) return std::nullopt;
  return RateSuggestion{two_digits(least.rate / below_minimum), least.rate};
}

}  // namespace brightnet
