#include "detect/outputs/window.h"

#include <gtest/gtest.h>

namespace brightnet {
namespace {

TEST(Window, ShowsPicturesInTheirProportionsAndNoLargerThanScreens) {
  EXPECT_EQ(screen_size({640, 480}), cv::Size(640, 480));
  EXPECT_EQ(screen_size({3200, 900}), cv::Size(1600, 450));
  EXPECT_EQ(screen_size({1000, 1800}), cv::Size(500, 900));
}

TEST(Window, ShowsAPixelOfASideThatWouldBeLess) {
  EXPECT_EQ(screen_size({6000, 1}), cv::Size(1600, 1));
  EXPECT_EQ(screen_size({1, 6000}), cv::Size(1, 900));
}

}  // namespace
}  // namespace brightnet
