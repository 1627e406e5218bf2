#include "data/drawing/canvas.h"

#include <gtest/gtest.h>

namespace brightnet {
namespace {

TEST(Canvas, TicksAreRoundAndCoverTheRange) {
  EXPECT_EQ(round_ticks(0, 1, 5).size(), 6u);
  EXPECT_DOUBLE_EQ(round_ticks(0, 0.0087, 5)[1], 0.002);
  const std::vector<double> ticks = round_ticks(3, 97, 5);
  EXPECT_DOUBLE_EQ(ticks.front(), 0);
  EXPECT_DOUBLE_EQ(ticks.back(), 100);
  EXPECT_EQ(ticks.size(), 6u);
}

TEST(Canvas, LabelsAreAsShortAsTheStepAllows) {
  EXPECT_EQ(tick_label(0.30000000000000004, 0.1), "0.3");
  EXPECT_EQ(tick_label(20, 5), "20");
  EXPECT_EQ(tick_label(0, 0.5), "0");
  EXPECT_EQ(tick_label(1e-5, 1e-5), "1e-05");
  EXPECT_EQ(tick_label(0.008, 0.002), "0.008");
}

/// Bounding box of everything that is not white.
cv::Rect inked(const cv::Mat& picture) {
  int left = picture.cols, right = -1, top = picture.rows, bottom = -1;
  for (int y = 0; y < picture.rows; ++y) {
    for (int x = 0; x < picture.cols; ++x) {
      if (picture.at<cv::Vec3b>(y, x)[1] > 200) continue;
      left = std::min(left, x);
      right = std::max(right, x);
      top = std::min(top, y);
      bottom = std::max(bottom, y);
    }
  }
  return {left, top, right - left + 1, bottom - top + 1};
}

cv::Rect2d in_units(const cv::Rect& pixels) {
  return {pixels.x / Canvas::density, pixels.y / Canvas::density, pixels.width / Canvas::density,
          pixels.height / Canvas::density};
}

TEST(Canvas, TextLiesWhereItsAlignmentSays) {
  const double width = Canvas::text_width("HHHH", 10);
  for (Align align : {Align::left, Align::center, Align::right}) {
    Canvas across(200, 200), upward(200, 200);
    across.text("HHHH", {100, 60}, 10, {0, 0, 0}, align);
    upward.text_upward("HHHH", {60, 100}, 10, {0, 0, 0}, align);
    const cv::Rect2d a = in_units(inked(across.finish())), u = in_units(inked(upward.finish()));
    const double start = align == Align::left ? 0 : align == Align::right ? width : width / 2;
    EXPECT_NEAR(a.x, 100 - start, 2.5);
    EXPECT_NEAR(a.y + a.height / 2.0, 60, 1.5);
    EXPECT_NEAR(a.height, 10, 2.5);
    // Read from below: what is left when it lies is low when it stands.
    EXPECT_NEAR(u.y + u.height, 100 + start, 2.5);
    EXPECT_NEAR(u.x + u.width / 2.0, 60, 1.5);
    EXPECT_NEAR(u.height, a.width, 1.5);
  }
}

TEST(Canvas, DrawingOutsideIsCut) {
  Canvas canvas(40, 40);
  canvas.fill({-10, -10, 20, 20}, {0, 0, 0});
  canvas.text_upward("far too long for this", {38, 20}, 12, {0, 0, 0});
  canvas.text_upward("outside", {400, 20}, 12, {0, 0, 0});
  EXPECT_EQ(canvas.finish().at<cv::Vec3b>(5, 5), cv::Vec3b(0, 0, 0));
  EXPECT_EQ(canvas.finish().at<cv::Vec3b>(20, 20), cv::Vec3b(255, 255, 255));
}

const cv::Scalar black_ink(0, 0, 0);

bool is_white_at(const Canvas& canvas, double x, double y) {
  const cv::Mat picture = canvas.finish();
  return picture.at<cv::Vec3b>(static_cast<int>(y * Canvas::density),
                               static_cast<int>(x * Canvas::density)) == cv::Vec3b::all(255);
}

TEST(Canvas, LinesDotsAndFramesLieWhereTheyAreDrawn) {
  const auto expect_ink = [](const Canvas& canvas, const cv::Rect2d& expected) {
    const cv::Rect2d at = in_units(inked(canvas.finish()));
    EXPECT_NEAR(at.x, expected.x, 1.5);
    EXPECT_NEAR(at.y, expected.y, 1.5);
    EXPECT_NEAR(at.br().x, expected.br().x, 1.5);
    EXPECT_NEAR(at.br().y, expected.br().y, 1.5);
  };
  Canvas line(100, 80), dot(100, 80), frame(100, 80), path(100, 80);
  line.line({10, 20}, {60, 20}, black_ink, 4);
  expect_ink(line, {8, 18, 54, 4});  // its ends are round
  dot.dot({40, 30}, 12, black_ink);
  expect_ink(dot, {28, 18, 24, 24});
  EXPECT_FALSE(is_white_at(dot, 40, 30));
  frame.frame({20, 10, 50, 40}, black_ink, 2);
  expect_ink(frame, {19, 9, 52, 42});
  EXPECT_TRUE(is_white_at(frame, 45, 30));
  path.polyline({{10, 10}, {60, 10}, {60, 50}}, black_ink, 2);
  expect_ink(path, {9, 9, 52, 42});
  EXPECT_TRUE(is_white_at(path, 35, 30)) << "its ends are not joined";
}

TEST(Canvas, DashesHaveGapsOfTheirOwnLength) {
  Canvas canvas(100, 80);
  canvas.dashes({10, 40}, {90, 40}, black_ink, 2);  // of 11 units
  for (const double x : {15, 37, 59, 81}) EXPECT_FALSE(is_white_at(canvas, x, 40)) << x;
  for (const double x : {5, 26, 48, 70, 95}) EXPECT_TRUE(is_white_at(canvas, x, 40)) << x;
}

}  // namespace
}  // namespace brightnet
