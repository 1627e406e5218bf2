#include "data/image/homography.h"

#include <gtest/gtest.h>

namespace brightnet {
namespace {

const cv::Point2d corner{3, 5};

TEST(Homography, IsAPlacementExactlyWhenItKeepsTheAxes) {
  const Placement placement{-0.37f, 1.21f, 99.5f, -3.25f};
  const auto back = placement_of(homography_of(placement));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->scale_x, placement.scale_x);
  EXPECT_EQ(back->scale_y, placement.scale_y);
  EXPECT_EQ(back->offset_x, placement.offset_x);
  EXPECT_EQ(back->offset_y, placement.offset_y);
  EXPECT_FALSE(placement_of(transposed(homography_of(placement))));
  EXPECT_TRUE(placement_of(transposed(transposed(homography_of(placement)))));
  EXPECT_FALSE(placement_of(Homography(1, 1e-9, 0, 0, 1, 0, 0, 0, 1)));
  EXPECT_FALSE(placement_of(Homography(1, 0, 0, 0, 1, 0, 1e-9, 0, 1)));
}

TEST(Homography, MovesAndTransposesAfterwards) {
  const Homography map(2, 1, 0, 0, 3, 0, 0, 0, 2);
  EXPECT_EQ(*project(map, corner), cv::Point2d(5.5, 7.5));
  EXPECT_EQ(*project(moved(map, {10, 20}), corner), cv::Point2d(15.5, 27.5));
  EXPECT_EQ(*project(transposed(map), corner), cv::Point2d(7.5, 5.5));
}

TEST(Homography, ShowsNothingThatLiesBehindTheObserver) {
  const Homography map(1, 0, 0, 0, 1, 0, -0.1, 0, 1);  // depth 0 at x = 10
  EXPECT_TRUE(project(map, {9, 0}));
  EXPECT_FALSE(project(map, {10, 0}));
  EXPECT_FALSE(project(map, {30, 0})) << "it would come to x = -15";
  const auto seen = project(map, corners_of({5, -1, 25, 2}), cv::Rect2d(-100, -100, 200, 200));
  const cv::Rect2d bounds = bounds_of(seen);
  EXPECT_DOUBLE_EQ(bounds.x, 10) << "x = 5 at half depth";
  EXPECT_DOUBLE_EQ(bounds.br().x, 100) << "cut at the part's side, not turned over";
}

TEST(Homography, ClipsAPolygonToThePart) {
  const Homography same = Homography::eye();
  const cv::Rect2d part(0, 0, 10, 10);
  const std::vector<cv::Point2d> diamond{{5, -3}, {13, 5}, {5, 13}, {-3, 5}};
  const auto seen = project(same, diamond, part);
  EXPECT_EQ(seen.size(), 8u);
  EXPECT_NEAR(area_of(seen), 100 - 4 * 0.5 * 2 * 2, 1e-9) << "a square without its four corners";
  EXPECT_NEAR(area_of(diamond), 128, 1e-9);
  EXPECT_TRUE(project(same, corners_of({20, 20, 5, 5}), part).empty());
  EXPECT_EQ(area_of({}), 0);
}

}  // namespace
}  // namespace brightnet
