#include "data/drawing/axes.h"

#include <cmath>

#include <gtest/gtest.h>

namespace brightnet {
namespace {

TEST(Axis, ALinearOneEndsAtTicksAroundItsValues) {
  const Axis axis = Axis::linear(3, 97, 5);
  EXPECT_DOUBLE_EQ(axis.low, 0);
  EXPECT_DOUBLE_EQ(axis.high, 100);
  EXPECT_DOUBLE_EQ(axis.step, 20);
  EXPECT_DOUBLE_EQ(axis.place(0), 0);
  EXPECT_DOUBLE_EQ(axis.place(25), 0.25);
  EXPECT_DOUBLE_EQ(axis.place(100), 1);
  EXPECT_EQ(axis.label(40), "40");
}

TEST(Axis, OfOneValueHasRoomOnBothSides) {
  for (const double value : {0.0, 5.0, -2.0}) {
    const Axis axis = Axis::linear(value, value, 5);
    EXPECT_LT(axis.low, value);
    EXPECT_GT(axis.high, value);
  }
}

TEST(Axis, ALogarithmicOneHasOneTwoAndFiveOfEachPowerOfTen) {
  const Axis axis = Axis::log(0.003, 0.7);
  EXPECT_NEAR(axis.low, 0.002, 1e-9);
  EXPECT_NEAR(axis.high, 1, 1e-9);
  ASSERT_EQ(axis.ticks.size(), 9u);
  EXPECT_NEAR(axis.ticks[1], 0.005, 1e-9);
  EXPECT_NEAR(axis.ticks[2], 0.01, 1e-9);
  EXPECT_NEAR(axis.place(axis.low), 0, 1e-9);
  EXPECT_NEAR(axis.place(std::sqrt(axis.low * axis.high)), 0.5, 1e-9);
  EXPECT_NEAR(axis.place(axis.high), 1, 1e-9);
  EXPECT_EQ(axis.place(0), 0) << "what it cannot show lies at its low end";
  EXPECT_EQ(axis.label(axis.ticks[1]), "0.005");
  // Of more than three powers only these.
  for (const Axis wide = Axis::log(2e-6, 0.5); const double tick : wide.ticks)
    EXPECT_NEAR(std::log10(tick), std::round(std::log10(tick)), 1e-9);
}

TEST(Plot, HasItsLowEndsAtTheLowerLeft) {
  Canvas canvas(200, 100);
  const Plot plot{canvas, {20, 10, 100, 50}, Axis::linear(0, 100, 5), Axis::linear(0, 1, 5)};
  const auto expect = [&](double x, double y, const cv::Point2d& at) {
    EXPECT_NEAR(cv::norm(plot.at(x, y) - at), 0, 1e-6) << x << ' ' << y;
  };
  expect(0, 0, {20, 60});
  expect(100, 0, {120, 60});
  expect(0, 1, {20, 10});
  expect(50, 0.5, {70, 35});
}

TEST(Plot, HasTheNumbersOfEachAxisBesideIt) {
  const auto drawn = [](const Axis& x, const Axis& y) {
    Canvas canvas(200, 100);
    Plot{canvas, {60, 10, 120, 50}, x, y}.draw_grid(8);
    return canvas.finish();
  };
  const auto pixels = [](double units) { return static_cast<int>(units * Canvas::density); };
  const auto below = [&](const cv::Mat& picture) { return picture.rowRange(pixels(66), picture.rows); };
  const auto beside = [&](const cv::Mat& picture) { return picture(cv::Rect(0, 0, pixels(55), pixels(66))); };
  const auto differ = [](const cv::Mat& a, const cv::Mat& b) { return cv::norm(a, b, cv::NORM_INF) > 0; };
  // Both have six ticks, so that only the numbers tell them apart.
  const Axis one = Axis::linear(0, 1, 5), hundred = Axis::linear(0, 100, 5);
  const cv::Mat both = drawn(one, one), wide = drawn(hundred, one), high = drawn(one, hundred);
  EXPECT_TRUE(differ(below(wide), below(both)));
  EXPECT_FALSE(differ(beside(wide), beside(both)));
  EXPECT_TRUE(differ(beside(high), beside(both)));
  EXPECT_FALSE(differ(below(high), below(both)));
}

}  // namespace
}  // namespace brightnet
