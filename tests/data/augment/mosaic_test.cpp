#include "data/augment/mosaic.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace brightnet {
namespace {

TEST(Mosaic, CentreIsInTheMiddleThreeFifthsAndReachesTheirEnds) {
  int low = 1000, high = 0;
  for (uint64_t i = 0; i < 3000; ++i) {
    Random random(1, Purpose::test, 0, i);
    const cv::Point centre = draw_mosaic_centre(random, 100);
    low = std::min({low, centre.x, centre.y});
    high = std::max({high, centre.x, centre.y});
  }
  EXPECT_EQ(low, 20);
  EXPECT_EQ(high, 80);
}

TEST(Mosaic, QuadrantsTileTheInput) {
  const cv::Point centre(30, 70);
  cv::Mat times(100, 100, CV_8U, cv::Scalar(0));
  for (int index = 0; index < 4; ++index) times(mosaic_quadrant(index, centre, 100)) += 1;
  EXPECT_EQ(cv::countNonZero(times == 1), 100 * 100);
  EXPECT_EQ(mosaic_quadrant(0, centre, 100), cv::Rect(0, 0, 30, 70));
  EXPECT_EQ(mosaic_quadrant(3, centre, 100), cv::Rect(30, 70, 70, 30));
}

// An image that fills the input has its own corner at the centre.
TEST(Mosaic, ImagesMeetAtTheCentre) {
  const cv::Point centre(40, 60);
  const Placement full{0.5f, 0.25f, 0, 0}, mirrored{-0.5f, 0.25f, 100, 0};
  for (const Placement& placement : {full, mirrored}) {
    for (int index = 0; index < 4; ++index) {
      const Placement moved = move_to_quadrant(placement, 200, 400, index, centre, 100);
      const float left = std::min(moved.offset_x, moved.offset_x + 200 * moved.scale_x);
      EXPECT_FLOAT_EQ(left, index % 2 ? 40 : -60) << index;
      EXPECT_FLOAT_EQ(moved.offset_y, index / 2 ? 60 : -40) << index;
    }
  }
}

// What the crop cuts off stays off at the seam; what it adds beyond the image does not show there.
TEST(Mosaic, SeamsShowTheCropsEdgeOrTheImages) {
  const cv::Point centre(50, 50);
  // The crop ends inside the image on the right: 20 of its 120 pixels hang over the input.
  Placement moved = move_to_quadrant(Placement{1, 1, 0, 0}, 120, 100, 0, centre, 100);
  EXPECT_FLOAT_EQ(moved.offset_x, -50) << "input column 100 of the crop comes to 50";
  // The crop goes 30 pixels beyond the image on the right.
  moved = move_to_quadrant(Placement{1, 1, 0, 0}, 70, 100, 0, centre, 100);
  EXPECT_FLOAT_EQ(moved.offset_x, -20) << "image column 70 comes to 50";
  moved = move_to_quadrant(Placement{1, 1, 30, 0}, 70, 100, 1, centre, 100);
  EXPECT_FLOAT_EQ(moved.offset_x, 50) << "image column 0 comes to 50";
}

// A vertical flip and a quarter turn show the same part of the finished picture as the picture itself would.
TEST(Mosaic, FlippedAndTurnedImagesMeetAtTheCentre) {
  const cv::Point centre(40, 60);
  const Homography flipped(0.5, 0, 0, 0, -0.25, 100, 0, 0, 1);  // 200 × 400 pixels onto 100 × 100
  const Homography turned(0, -0.25, 100, 0.5, 0, 0, 0, 0, 1);   // clockwise
  for (const Homography& map : {flipped, turned}) {
    for (int index = 0; index < 4; ++index) {
      const Homography moved = move_to_quadrant(map, 200, 400, index, centre, 100);
      const cv::Rect2d at = bounds_of(project(moved, corners_of({0, 0, 200, 400}), {-500, -500, 1000, 1000}));
      EXPECT_FLOAT_EQ(static_cast<float>(at.x), index % 2 ? 40 : -60) << index;
      EXPECT_FLOAT_EQ(static_cast<float>(at.y), index / 2 ? 60 : -40) << index;
    }
  }
}

// The corner of the crop is empty when the image stands askew in it.
TEST(Mosaic, AskewImagesStillMeetAtTheCentre) {
  const cv::Point centre(40, 60);
  const double c = std::cos(0.6), s = std::sin(0.6);
  const Homography askew =
      moved(Homography(c, -s, 0, s, c, 0, 0, 0, 1) * Homography(1, 0, -50, 0, 1, -50, 0, 0, 1), {50, 50});
  for (int index = 0; index < 4; ++index) {
    const Homography to_image = move_to_quadrant(askew, 100, 100, index, centre, 100).inv();
    const cv::Point2d into(index % 2 ? 0.5 : -0.5, index / 2 ? 0.5 : -0.5);
    EXPECT_TRUE(cv::Rect2d(0, 0, 100, 100).contains(*project(to_image, cv::Point2d(centre) + into))) << index;
    // No more of the image than necessary is lost: two pixels farther out there is none.
    const cv::Point2d before = project(to_image, cv::Point2d(centre) - 4 * into).value();
    EXPECT_FALSE(cv::Rect2d(0, 0, 100, 100).contains(before)) << index;
  }
}

TEST(Mosaic, ARectangularInputHasItsOwnHeightAndWidth) {
  const InputSize size(100, 300);
  int low_x = 1000, high_x = 0, low_y = 1000, high_y = 0;
  for (uint64_t i = 0; i < 6000; ++i) {
    Random random(1, Purpose::test, 0, i);
    const cv::Point centre = draw_mosaic_centre(random, size);
    low_x = std::min(low_x, centre.x);
    high_x = std::max(high_x, centre.x);
    low_y = std::min(low_y, centre.y);
    high_y = std::max(high_y, centre.y);
  }
  EXPECT_EQ(low_x, 60);
  EXPECT_EQ(high_x, 240);
  EXPECT_EQ(low_y, 20);
  EXPECT_EQ(high_y, 80);
  const cv::Point centre(200, 30);
  cv::Mat times(100, 300, CV_8U, cv::Scalar(0));
  for (int index = 0; index < 4; ++index) times(mosaic_quadrant(index, centre, size)) += 1;
  EXPECT_EQ(cv::countNonZero(times == 1), 100 * 300);
  // An image that fills the input has its own corner at the centre.
  for (int index = 0; index < 4; ++index) {
    const Placement moved = move_to_quadrant(Placement{1.5f, 0.25f, 0, 0}, 200, 400, index, centre, size);
    EXPECT_FLOAT_EQ(moved.offset_x, index % 2 ? 200 : -100) << index;
    EXPECT_FLOAT_EQ(moved.offset_y, index / 2 ? 30 : -70) << index;
  }
}

}  // namespace
}  // namespace brightnet
