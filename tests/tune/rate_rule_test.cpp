#include "tune/rate_rule.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace brightnet {
namespace {

constexpr int steps = 150;

/// A sweep from 1e-6 to 1 whose loss is loss(log10(rate)).
template <typename Loss>
std::vector<RatePoint> sweep(const Loss& loss) {
  std::vector<RatePoint> points;
  for (int i = 0; i < steps; ++i) {
    const double rate = sweep_rate(1e-6, 1, i, steps);
    points.push_back({rate, loss(std::log10(rate))});
  }
  smooth_losses(points);
  return points;
}

TEST(RateSweep, GrowsByAConstantFactorFromEndToEnd) {
  EXPECT_DOUBLE_EQ(sweep_rate(1e-6, 1, 0, steps), 1e-6);
  EXPECT_NEAR(sweep_rate(1e-6, 1, steps - 1, steps), 1, 1e-12);
  EXPECT_NEAR(sweep_rate(1e-6, 1, 10, steps) / sweep_rate(1e-6, 1, 9, steps), std::pow(1e6, 1.0 / 149),
              1e-12);
}

TEST(RateSweep, SmoothsByAWeightedMeanOfLogarithms) {
  std::vector<RatePoint> points{{1e-3, 100}, {2e-3, 10}, {4e-3, 1}};
  smooth_losses(points);
  EXPECT_NEAR(points[0].smoothed, 100, 1e-9);
  EXPECT_NEAR(points[1].smoothed, std::pow(10, (0.9 * 2 + 1) / 1.9), 1e-9);
  EXPECT_NEAR(points[2].smoothed, std::pow(10, (0.81 * 2 + 0.9 * 1 + 0) / 2.71), 1e-9);
}

TEST(RateSweep, SuggestsAThirdOfTheRateWithTheLeastLoss) {
  // Flat, falling from 1e-4, least at 1e-2, exploding after it.
  const auto points = sweep([](double x) {
    return x < -4 ? 20 : x < -2 ? 20 * std::pow(10, -(x + 4) / 2) : 2 * std::pow(10, 3 * (x + 2));
  });
  const auto found = suggest_rate(points);
  ASSERT_TRUE(found);
  // Smoothing delays the minimum by some steps of 10 % each.
  EXPECT_GT(found->minimum, 0.9e-2);
  EXPECT_LT(found->minimum, 2.5e-2);
  EXPECT_NEAR(found->rate, found->minimum / 3, 0.05 * found->minimum);
  const double digits = found->rate / std::pow(10, std::floor(std::log10(found->rate)) - 1);
  EXPECT_NEAR(digits, std::round(digits), 1e-6) << found->rate;
}

TEST(RateSweep, IsNotMisledByTheNoiseOfSingleBatches) {
  int step = 0;
  const auto clean = [](double x) {
    return x < -4 ? 20 : x < -2 ? 20 * std::pow(10, -(x + 4) / 2) : 2 * std::pow(10, 3 * (x + 2));
  };
  const auto quiet = suggest_rate(sweep(clean));
  const auto noisy = suggest_rate(sweep([&](double x) { return clean(x) * (++step % 2 ? 0.6 : 1.6); }));
  ASSERT_TRUE(quiet && noisy);
  EXPECT_NEAR(std::log10(noisy->rate), std::log10(quiet->rate), 0.15);
}

TEST(RateSweep, SuggestsNothingWhereTheLossNeverFalls) {
  EXPECT_FALSE(suggest_rate(sweep([](double x) { return x < -2 ? 20.0 : 2000.0; })));
  EXPECT_FALSE(suggest_rate({}));
}

TEST(RateSweep, SuggestsSomethingFromAFallByATenthOn) {
  const auto falls_to = [](double part) {
    return suggest_rate(sweep([=](double x) { return x < -3 ? 20 : 20 * part; })).has_value();
  };
  EXPECT_TRUE(falls_to(0.88));
  EXPECT_FALSE(falls_to(0.92));
}

TEST(RateSweep, EndsWhenTheLossIsNotFiniteOrFourTimesTheLeast) {
  auto points = sweep([](double) { return 5.0; });
  EXPECT_FALSE(has_diverged(points));
  EXPECT_FALSE(has_diverged({}));
  points.push_back({1, std::numeric_limits<double>::infinity()});
  smooth_losses(points);
  EXPECT_TRUE(has_diverged(points));
  points.pop_back();
  int more = 0;
  do {
    points.push_back({1, 40});
    smooth_losses(points);
  } while (!has_diverged(points) && ++more < 100);
  EXPECT_GT(more, 3) << "one bad batch is no divergence";
  EXPECT_LT(more, 15);
  EXPECT_GT(points.back().smoothed, 20);
  EXPECT_LE(points[points.size() - 2].smoothed, 20) << "not before";
}

}  // namespace
}  // namespace brightnet
