#include "detect/views.h"

#include <gtest/gtest.h>

namespace brightnet {
namespace {

TEST(Views, AreTheImageAndSmallerOnesEachMirroredAsWell) {
  const auto views = augmented_views({416, 608}, 32);
  ASSERT_EQ(views.size(), 6u);
  EXPECT_EQ(views[0].size, InputSize(416, 608));
  EXPECT_FALSE(views[0].mirrored) << "the losses are of the image itself";
  EXPECT_EQ(views[1].size, InputSize(416, 608));
  EXPECT_TRUE(views[1].mirrored);
  EXPECT_EQ(views[2].size, InputSize(352, 512));
  EXPECT_EQ(views[4].size, InputSize(288, 416));
  EXPECT_EQ(augmented_views(32, 32).size(), 2u) << "there is no smaller one";
}

TEST(Views, AreMergedClassByClassTheBestFirst) {
  const NmsOptions nms{.iou = 0.5f, .score = 0.1f, .max_detections = 3};
  const std::vector<ScoredBox> boxes{{10, 10, 30, 40, 0, 0.4f}, {11, 10, 30, 40, 0, 0.8f},
                                     {10, 10, 30, 40, 1, 0.5f}, {50, 50, 60, 60, 0, 0.3f},
                                     {70, 50, 80, 60, 0, 0.2f}, {0, 0, 5, 5, 0, 0.05f}};
  const auto merged = merge_views(boxes, nms, 100, 80);
  ASSERT_EQ(merged.size(), 3u);
  EXPECT_EQ(merged[0].score, 0.8f);
  EXPECT_NEAR(merged[0].x1, 11, 1e-4f);
  EXPECT_NEAR(merged[0].y2, 40, 1e-4f);
  EXPECT_EQ(merged[1].class_id, 1);
  EXPECT_EQ(merged[2].score, 0.3f);
}

}  // namespace
}  // namespace brightnet
