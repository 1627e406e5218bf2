// The four rules against plain implementations of them, which work on the values themselves.
#include "detect/quantization/ranges.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "core/enum_names.h"
#include "core/random.h"

namespace brightnet {
namespace {

/// Mostly small values and a few large ones, as an activation's: leaky, so that negative ones are a tenth.
std::vector<float> activations(size_t count = 20000) {
  std::vector<float> values(count);
  Random random(1, Purpose::test);
  for (float& value : values) {
    const float normal = random.normal();
    value = normal * (random.below(500) == 0 ? 20.0f : 1.0f);
    if (value < 0) value *= 0.1f;
  }
  return values;
}

Histogram histogram_of(const std::vector<float>& values) {
  Histogram histogram;
  histogram.widen(values);
  histogram.add(values);
  return histogram;
}

double square(double x) {
  return x * x;
}

double mean_squared_error(const std::vector<float>& values, const QuantizedRange& range) {
  double sum = 0;
  for (const float value : values) {
    const double q = std::clamp<double>(
        std::nearbyint(value / range.scale) + static_cast<float>(range.zero_point), 0, 255);
    sum += square(range.scale * (q - range.zero_point) - value);
  }
  return sum / static_cast<double>(values.size());
}

TEST(QuantizedRanges, MinMaxContainsAllValuesAndZeroIsExact) {
  const std::vector<float> values = activations();
  for (const bool symmetric : {false, true}) {
    const QuantizedRange range =
        calibrated_range(histogram_of(values), CalibrationMethod::min_max, symmetric);
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    EXPECT_LE(range.least(), *least + range.scale / 2);
    EXPECT_GE(range.most(), *most - range.scale / 2);
    EXPECT_EQ(dequantized(quantized(0, range), range), 0);
    const float steps = (symmetric ? 2 * *most / 254 : (*most - *least) / 255);
    EXPECT_NEAR(range.scale, steps, 1e-3f * steps);
    EXPECT_EQ(symmetric, range.zero_point == 128);
  }
  EXPECT_EQ(range_between(2, 5, false).zero_point, 0);
  EXPECT_EQ(range_between(-5, -2, false).zero_point, 255);
  EXPECT_GT(range_between(0, 0, false).scale, 0);
  EXPECT_FLOAT_EQ(range_between(-5, 2, true).scale, 5 / 127.0f) << "the greater magnitude";
  EXPECT_FLOAT_EQ(range_between(-1, 3, false).scale, 4 / 255.0f);
  EXPECT_EQ(range_between(-1, 3, false).zero_point, 64) << "63.75, rounded";
}

TEST(QuantizedRanges, PercentileLeavesOutATenThousandthAtEachEnd) {
  std::vector<float> values = activations();
  const QuantizedRange range = calibrated_range(histogram_of(values), CalibrationMethod::percentile, false);
  std::sort(values.begin(), values.end());
  const float bin = (values.back() - values.front()) / Histogram::bins;
  const auto left_out = static_cast<std::ptrdiff_t>(values.size() / 10000);
  EXPECT_NEAR(range.most(), values[values.size() - 1 - static_cast<size_t>(left_out)], 2 * bin + range.scale);
  EXPECT_NEAR(range.least(), values[static_cast<size_t>(left_out)], 2 * bin + range.scale);
  EXPECT_LT(range.most(), values.back() - range.scale);
}

TEST(QuantizedRanges, SquaredErrorIsTheLeastOfAllBounds) {
  const std::vector<float> values = activations();
  const QuantizedRange range =
      calibrated_range(histogram_of(values), CalibrationMethod::squared_error, false);
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const double found = mean_squared_error(values, range);
  for (float bound = *most; bound > *most / 16; bound *= 0.9f) {
    const QuantizedRange other = range_between(std::max(*least, -bound), std::min(*most, bound), false);
    EXPECT_LT(found, 1.02 * mean_squared_error(values, other)) << bound;
  }
}

// A single outlier among very many values is worth less than finer steps for all others.
TEST(QuantizedRanges, SquaredErrorCutsOneOutlierOfMillions) {
  std::vector<float> values(20000);
  Random random(2, Purpose::test);
  for (float& value : values) value = random.normal();
  const std::vector<float> outlier{40};
  Histogram histogram;
  histogram.widen(values);
  histogram.widen(outlier);
  for (int copy = 0; copy < 200; ++copy) histogram.add(values);
  histogram.add(outlier);
  const QuantizedRange range = calibrated_range(histogram, CalibrationMethod::squared_error, false);
  EXPECT_LT(range.most(), 8);
  EXPECT_GT(range.most(), 3);
  EXPECT_LT(range.least(), -3);
}

/// KL(P ‖ Q) of Migacz 2017, by bins of the values within the range.
double divergence(const std::vector<float>& values, const QuantizedRange& range, float least, float most) {
  constexpr int bins = 4096;
  std::vector<double> p(bins), inside(bins);
  const float width = (most - least) / bins;
  const auto middle = [&](int bin) { return least + (static_cast<float>(bin) + 0.5f) * width; };
  int first = -1, last = -1;
  for (int bin = 0; bin < bins; ++bin) {
    if (middle(bin) < range.least() - range.scale / 2 || middle(bin) > range.most() + range.scale / 2)
      continue;
    if (first < 0) first = bin;
    last = bin;
  }
  for (const float value : values) {
    const int bin = std::clamp(static_cast<int>((value - least) / width), 0, bins - 1);
    if (bin >= first && bin <= last) ++inside[static_cast<size_t>(bin)];
    ++p[static_cast<size_t>(std::clamp(bin, first, last))];
  }
  std::vector<double> level(256), different(256);
  double kept = 0;
  for (int bin = first; bin <= last; ++bin) {
    const double count = inside[static_cast<size_t>(bin)];
    level[quantized(middle(bin), range)] += count;
    different[quantized(middle(bin), range)] += count > 0;
    kept += count;
  }
  double sum = 0;
  for (int bin = first; bin <= last; ++bin) {
    const double share = p[static_cast<size_t>(bin)] / static_cast<double>(values.size());
    if (share == 0) continue;
    const size_t l = quantized(middle(bin), range);
    const double q = inside[static_cast<size_t>(bin)] > 0 ? level[l] / different[l] / kept : 1e-9;
    sum += share * std::log(share / q);
  }
  return sum;
}

TEST(QuantizedRanges, EntropyIsTheLeastDivergenceOfAllBounds) {
  const std::vector<float> values = activations();
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const QuantizedRange range = calibrated_range(histogram_of(values), CalibrationMethod::entropy, false);
  const double found = divergence(values, range, *least, *most);
  for (float bound = *most; bound > *most / 16; bound *= 0.93f) {
    const QuantizedRange other = range_between(std::max(*least, -bound), std::min(*most, bound), false);
    EXPECT_LT(found, divergence(values, other, *least, *most) + 0.02) << bound;
  }
}

// Of all least values the best, found by trying them on the values themselves.
TEST(QuantizedRanges, BeforeLeakyLittleIsSpentOnNegativeValues) {
  std::vector<float> values(20000);
  Random random(2, Purpose::test);
  for (float& value : values) value = 3 * random.normal();
  const auto error = [&](const QuantizedRange& range) {
    double sum = 0;
    for (const float value : values) {
      const float rounded = dequantized(quantized(value, range), range);
      sum += square(activate<Activation::leaky>(rounded) - activate<Activation::leaky>(value));
    }
    return sum;
  };
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const QuantizedRange before = range_before(histogram_of(values), Activation::leaky, false);
  double best = INFINITY;
  for (float part = 0; part <= 1; part += 0.005f)
    best = std::min(best, error(range_between(part * *least, *most, false)));
  EXPECT_LT(error(before), 1.02 * best);
  EXPECT_LT(best, 0.95 * error(range_between(*least, *most, false))) << "nothing was to be won";
  EXPECT_NEAR(before.most(), *most, before.scale);
}

TEST(QuantizedRanges, ATensorOfOneValueHasARange) {
  const Histogram zeros = histogram_of(std::vector<float>(10));
  for (const CalibrationMethod method : enum_values<CalibrationMethod>())
    EXPECT_GT(calibrated_range(zeros, method, false).scale, 0);
}

// What is chosen of negated values is what was chosen, negated: neither sign is the greater one by nature.
TEST(QuantizedRanges, AreTheSameOfNegatedValues) {
  const std::vector<float> values = activations();
  for (const CalibrationMethod method :
       {CalibrationMethod::min_max, CalibrationMethod::percentile, CalibrationMethod::squared_error}) {
    const QuantizedRange range = calibrated_range(histogram_of(values), method, false);
    std::vector<float> negated = values;
    for (float& value : negated) value = -value;
    const QuantizedRange other = calibrated_range(histogram_of(negated), method, false);
    EXPECT_NEAR(other.least(), -range.most(), 0.1f * range.most()) << enum_name(method);
    EXPECT_NEAR(other.most(), -range.least(), 0.1f * range.most()) << enum_name(method);
  }
}

TEST(Histogram, CountsValuesInBinsOfEqualWidthFromTheLeastToTheGreatest) {
  Histogram histogram;
  histogram.widen(std::vector<float>{-1, 3});
  histogram.widen(std::vector<float>{0.5f});
  EXPECT_EQ(histogram.least(), -1);
  EXPECT_EQ(histogram.most(), 3);
  EXPECT_EQ(histogram.width(), 4.0f / Histogram::bins);
  EXPECT_EQ(histogram.value(0), -1 + 2.0f / Histogram::bins) << "the middle of the first";
  histogram.add(std::vector<float>{-1, 0, 3});
  histogram.add(std::vector<float>{3});
  const std::vector<double>& counts = histogram.counts();
  EXPECT_EQ(counts[0], 1);
  EXPECT_EQ(counts[Histogram::bins / 4], 1) << "of 0, a quarter of the way";
  EXPECT_EQ(counts[Histogram::bins - 1], 2);
  Histogram positive;
  positive.widen(std::vector<float>{2, 5});
  EXPECT_EQ(positive.least(), 0) << "0 is in every range";
}

}  // namespace
}  // namespace brightnet
