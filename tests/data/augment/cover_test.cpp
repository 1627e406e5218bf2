#include "data/augment/cover.h"

#include <gtest/gtest.h>

namespace brightnet {
namespace {

// By its corners, in an input of 100 pixels.
Truth truth(float x1, float y1, float x2, float y2) {
  return {{(x1 + x2) / 200, (y1 + y2) / 200, (x2 - x1) / 100, (y2 - y1) / 100}, 0};
}

std::vector<Truth> covered(const Truth& object, const std::vector<cv::Rect>& covers, float most = 0.6f) {
  std::vector<Truth> truths{object};
  cover_boxes(truths, covers, 100, most);
  return truths;
}

void expect_box(const std::vector<Truth>& truths, const Truth& expected) {
  ASSERT_EQ(truths.size(), 1u);
  EXPECT_NEAR(truths[0].box.x, expected.box.x, 1e-5);
  EXPECT_NEAR(truths[0].box.y, expected.box.y, 1e-5);
  EXPECT_NEAR(truths[0].box.w, expected.box.w, 1e-5);
  EXPECT_NEAR(truths[0].box.h, expected.box.h, 1e-5);
}

TEST(CoverBoxes, DropThoseOfWhichTooMuchIsHidden) {
  const Truth object = truth(20, 20, 40, 60);
  EXPECT_EQ(covered(object, {{20, 20, 20, 23}}).size(), 1u) << "57.5 %";
  EXPECT_EQ(covered(object, {{20, 20, 20, 25}}).size(), 0u) << "62.5 %";
  EXPECT_EQ(covered(object, {{20, 20, 20, 15}, {20, 45, 20, 15}}).size(), 0u) << "75 % together";
  EXPECT_EQ(covered(object, {{20, 20, 20, 20}, {10, 15, 40, 25}}).size(), 1u) << "the same 50 % twice";
  EXPECT_EQ(covered(object, {{20, 20, 20, 25}}, 0.7f).size(), 1u);
  EXPECT_EQ(covered(object, {{0, 0, 100, 100}}, 1).size(), 0u) << "nothing is left";
}

TEST(CoverBoxes, KeepWhatIsLeftAtTheEnds) {
  const Truth object = truth(20, 20, 40, 60);
  expect_box(covered(object, {{10, 10, 50, 20}}), truth(20, 30, 40, 60));
  expect_box(covered(object, {{10, 50, 50, 40}}), truth(20, 20, 40, 50));
  expect_box(covered(object, {{10, 10, 15, 80}}), truth(25, 20, 40, 60));
  expect_box(covered(object, {{36, 10, 15, 80}}), truth(20, 20, 36, 60));
  expect_box(covered(object, {{30, 30, 30, 20}}), object);  // a corner or the middle leaves the extent
  expect_box(covered(object, {{10, 30, 50, 10}}), object);
  expect_box(covered(object, {{50, 20, 10, 40}}), object);
  // The second reaches from side to side only of what the first has left.
  expect_box(covered(object, {{10, 10, 15, 80}, {25, 10, 30, 20}}), truth(25, 30, 40, 60));
  expect_box(covered(object, {{25, 10, 30, 20}, {10, 10, 15, 80}}), truth(25, 30, 40, 60));
}

TEST(DrawRectangle, IsInsideAndHasSidesOfTheRange) {
  int low = 100, high = 0, left = 100, right = 0;
  for (uint64_t i = 0; i < 2000; ++i) {
    Random random(1, Purpose::test, 0, i);
    const cv::Rect rectangle = draw_rectangle(random, {0.2f, 0.5f}, 100);
    ASSERT_EQ(rectangle & cv::Rect(0, 0, 100, 100), rectangle);
    low = std::min({low, rectangle.width, rectangle.height});
    high = std::max({high, rectangle.width, rectangle.height});
    left = std::min(left, rectangle.x);
    right = std::max(right, rectangle.br().x);
  }
  EXPECT_EQ(low, 20);
  EXPECT_GE(high, 49);
  EXPECT_EQ(left, 0);
  EXPECT_EQ(right, 100);
  Random random(1, Purpose::test);
  EXPECT_EQ(draw_rectangle(random, {1, 1}, 64), cv::Rect(0, 0, 64, 64));
}

TEST(DrawCutout, OneToTheLargestNumberWithTheProbability) {
  AugmentOptions options;
  options.cutout = 0.5f;
  options.cutout_count = 3;
  int counts[4] = {};
  for (uint64_t i = 0; i < 3000; ++i) {
    Random random(1, Purpose::test, 0, i);
    ++counts[draw_cutout(random, options, 100).size()];
  }
  EXPECT_NEAR(counts[0], 1500, 150);
  for (int i = 1; i < 4; ++i) EXPECT_NEAR(counts[i], 500, 100);
}

TEST(CoverBoxes, CountInThePixelsOfARectangularInput) {
  std::vector<Truth> truths{{{0.5f, 0.5f, 0.2f, 0.5f}, 0}};  // columns 80 to 120, rows 10 to 30
  const std::vector<cv::Rect> upper{{70, 0, 60, 15}};
  cover_boxes(truths, upper, InputSize(40, 200), 0.6f);
  expect_box(truths, {{0.5f, 22.5f / 40, 0.2f, 15.0f / 40}, 0});
}

TEST(DrawRectangle, OfARectangularInputReachesItsSides) {
  int narrowest = 100, lowest = 100;
  cv::Rect reached;
  for (uint64_t i = 0; i < 2000; ++i) {
    Random random(1, Purpose::test, 0, i);
    const cv::Rect rectangle = draw_rectangle(random, {0.2f, 0.5f}, InputSize(40, 100));
    narrowest = std::min(narrowest, rectangle.width);
    lowest = std::min(lowest, rectangle.height);
    reached |= rectangle;
  }
  EXPECT_EQ(reached, cv::Rect(0, 0, 100, 40));
  EXPECT_EQ(narrowest, 20);
  EXPECT_EQ(lowest, 8);
}

}  // namespace
}  // namespace brightnet
