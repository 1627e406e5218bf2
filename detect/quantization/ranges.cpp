#include "detect/quantization/ranges.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace brightnet {
namespace {

/// Bounds on the magnitude of values that entropy and squared error choose among: this many, down to this part of the
/// greatest.
constexpr int bounds = 96;
constexpr float least_bound = 1.0f / 16;

constexpr double left_out = 1e-4;  ///< share of the values that the percentile leaves out at each end

/// Calls f with a bound on the magnitudes, from all values down.
template <typename F>
void for_each_bound(const Histogram& values, F&& f) {
  const float greatest = std::max(-values.least(), values.most());
  for (int i = 0; i < bounds; ++i) f(greatest * std::pow(least_bound, i / static_cast<float>(bounds - 1)));
}

QuantizedRange within(const Histogram& values, float bound, bool symmetric) {
  return range_between(std::max(values.least(), -bound), std::min(values.most(), bound), symmetric);
}

QuantizedRange percentile_range(const Histogram& values, bool symmetric) {
  double all = 0;
  for (const double count : values.counts()) all += count;
  const auto end = [&](int from, int step) {
    double passed = 0;
    int bin = from;
    while (passed + values.counts()[bin] <= left_out * all) {
      passed += values.counts()[bin];
      bin += step;
    }
    return bin;
  };
  const int first = end(0, 1), last = end(Histogram::bins - 1, -1);
  return range_between(values.least() + first * values.width(), values.least() + (last + 1) * values.width(),
                       symmetric);
}

double squared_error(const Histogram& values, const QuantizedRange& range, const auto& activated) {
  double error = 0;
  for (int bin = 0; bin < Histogram::bins; ++bin) {
    const double count = values.counts()[bin];
    if (count == 0) continue;
    const float value = values.value(bin);
    const double off = activated(value) - activated(dequantized(quantized(value, range), range));
    error += count * off * off;
  }
  return error;
}

// P is the distribution whose tails are counted in the outermost bins that the range keeps; Q what is left of the
// distribution when every level's count is spread evenly over those of its bins that are not empty.
double divergence(const Histogram& values, const QuantizedRange& range) {
  constexpr double missing = 1e-9;  // value of Q where it has nothing and P has something
  std::array<double, largest_quantized + 1> level_counts{}, level_bins{};
  const auto level = [&](int bin) { return static_cast<size_t>(quantized(values.value(bin), range)); };
  const auto kept = [&](int bin) {
    const float value = values.value(bin), half = range.scale / 2;
    return value >= range.least() - half && value <= range.most() + half;
  };
  double all = 0, inside = 0;
  int first = -1, last = -1;
  for (int bin = 0; bin < Histogram::bins; ++bin) {
    const double count = values.counts()[bin];
    all += count;
    if (!kept(bin)) continue;
    if (first < 0) first = bin;
    last = bin;
    inside += count;
    level_counts[level(bin)] += count;
    level_bins[level(bin)] += count > 0 ? 1 : 0;
  }
  if (inside == 0) return INFINITY;
  double below = 0, above = 0, sum = 0;
  for (int bin = 0; bin < first; ++bin) below += values.counts()[bin];
  for (int bin = last + 1; bin < Histogram::bins; ++bin) above += values.counts()[bin];
  for (int bin = first; bin <= last; ++bin) {
    const double count = values.counts()[bin];
    const double p = (count + (bin == first ? below : 0) + (bin == last ? above : 0)) / all;
    if (p == 0) continue;
    const double q = count > 0 ? level_counts[level(bin)] / level_bins[level(bin)] / inside : missing;
    sum += p * std::log(p / q);
  }
  return sum;
}

/// The range with the least loss among the bounds; of equals the widest.
template <typename Loss>
QuantizedRange best_range(const Histogram& values, bool symmetric, Loss&& loss) {
  QuantizedRange best;
  double least = INFINITY;
  for_each_bound(values, [&](float bound) {
    const QuantizedRange range = within(values, bound, symmetric);
    const double lost = loss(range);
    if (!(lost < least)) return;
    least = lost;
    best = range;
  });
  return best;
}

}  // namespace

QuantizedRange range_between(float least, float most, bool symmetric) {
  least = std::min(least, 0.0f);
  most = std::max(most, 0.0f);
  if (!(most > least)) return {1.0f / largest_quantized, symmetric ? 128 : 0};
  if (symmetric) return {std::max(-least, most) / 127, 128};
  const float scale = (most - least) / largest_quantized;
  return {scale, std::clamp(static_cast<int>(std::lround(-least / scale)), 0, largest_quantized)};
}

QuantizedRange calibrated_range(const Histogram& values, CalibrationMethod method, bool symmetric) {
  if (!(values.most() > values.least())) return range_between(0, 0, symmetric);
  switch (method) {
    case CalibrationMethod::min_max: return range_between(values.least(), values.most(), symmetric);
    case CalibrationMethod::percentile: return percentile_range(values, symmetric);
    case CalibrationMethod::entropy:
      return best_range(values, symmetric, [&](const QuantizedRange& r) { return divergence(values, r); });
    case CalibrationMethod::squared_error:
      return best_range(values, symmetric, [&](const QuantizedRange& r) {
        return squared_error(values, r, [](float value) { return value; });
      });
  }
  return {};
}

QuantizedRange range_before(const Histogram& values, Activation activation, bool symmetric) {
  QuantizedRange best = range_between(values.least(), values.most(), symmetric);
  if (!(values.most() > values.least())) return best;
  double least_error = INFINITY;
  with_activation(activation, [&]<Activation A>() {
    for (int i = 0; i <= bounds; ++i) {
      const float least = values.least() * (1 - i / static_cast<float>(bounds));
      const QuantizedRange range = range_between(least, values.most(), symmetric);
      const double error = squared_error(values, range, [](float value) { return activate<A>(value); });
      if (!(error < least_error)) continue;
      least_error = error;
      best = range;
    }
  });
  return best;
}

}  // namespace brightnet
