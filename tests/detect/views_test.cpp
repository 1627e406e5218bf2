#include "detect/views.h"

#include <gtest/gtest.h>

namespace brightnet {
namespace {

TEST(Views, AreTheImageASmallerAndALargerOneEachMirroredAsWell) {
  const auto views = augmented_views({416, 608}, 32);
  ASSERT_EQ(views.size(), 6u);
  EXPECT_EQ(views[0].size, InputSize(416, 608));
  EXPECT_FALSE(views[0].mirrored) << "the losses are of the image itself";
  EXPECT_EQ(views[1].size, InputSize(416, 608));
  EXPECT_TRUE(views[1].mirrored);
  EXPECT_EQ(views[2].size, InputSize(352, 512));
  EXPECT_EQ(views[4].size, InputSize(480, 704));
  for (size_t i = 0; i < views.size(); i += 2) {
    EXPECT_FALSE(views[i].mirrored);
    EXPECT_TRUE(views[i + 1].mirrored);
    EXPECT_EQ(views[i + 1].size, views[i].size);
  }
  EXPECT_EQ(augmented_views(32, 32).size(), 2u) << "there is no other one";
}

TEST(Views, BoxesOfOneObjectBecomeTheirMean) {
  const NmsOptions nms{.iou = 0.5f, .score = 0.05f, .max_detections = 3};
  const std::vector<ScoredBox> boxes{{10, 10, 30, 40, 0, 0.4f}, {12, 10, 32, 40, 0, 0.8f},
                                     {10, 10, 30, 40, 1, 0.6f}, {50, 50, 60, 60, 0, 0.3f},
                                     {70, 50, 80, 60, 0, 0.2f}, {0, 0, 5, 5, 0, 0.05f}};
  const auto merged = merge_views(boxes, nms, 2);
  ASSERT_EQ(merged.size(), 3u);
  EXPECT_NEAR(merged[0].score, 0.6f, 1e-6f) << "the mean of 0.8 and 0.4";
  EXPECT_NEAR(merged[0].x1, (0.8f * 12 + 0.4f * 10) / 1.2f, 1e-4f);
  EXPECT_NEAR(merged[0].y2, 40, 1e-4f);
  EXPECT_EQ(merged[1].class_id, 1);
  EXPECT_NEAR(merged[1].score, 0.3f, 1e-6f) << "found in one view of two";
  EXPECT_NEAR(merged[2].score, 0.15f, 1e-6f);
  EXPECT_NEAR(merged[2].x1, 50, 1e-4f);
}

TEST(Views, MoreBoxesThanViewsDoNotRaiseTheScore) {
  const std::vector<ScoredBox> boxes(5, {10, 10, 30, 40, 0, 0.4f});
  const auto merged = merge_views(boxes, {}, 2);
  ASSERT_EQ(merged.size(), 1u);
  EXPECT_NEAR(merged[0].score, 0.4f, 1e-6f);
}

TEST(Views, BoxesOfAllClassesAreOneObjectsWhereNmsIsOverAll) {
  NmsOptions nms;
  nms.class_agnostic = true;
  const auto merged = merge_views({{10, 10, 30, 40, 0, 0.4f}, {10, 10, 30, 40, 1, 0.6f}}, nms, 2);
  ASSERT_EQ(merged.size(), 1u);
  EXPECT_EQ(merged[0].class_id, 1) << "the better one's";
}

// Squares of 100 pixels, one of them so far to the right.
TEST(Views, BoxesAreOneObjectsFromAnIouOf55PercentOn) {
  const auto objects = [](float right) {
    const NmsOptions nms{.iou = 0.95f};
    return merge_views({{0, 0, 100, 100, 0, 0.8f}, {right, 0, right + 100, 100, 0, 0.6f}}, nms, 2).size();
  };
  EXPECT_EQ(objects(28), 1u) << "72 of 128";
  EXPECT_EQ(objects(30), 2u) << "70 of 130";
}

TEST(Views, ABoxIsOfTheObjectThatItOverlapsMost) {
  const auto merged = merge_views(
      {{0, 0, 100, 100, 0, 0.9f}, {35, 0, 135, 100, 0, 0.8f}, {20, 0, 120, 100, 0, 0.7f}}, {.iou = 0.95f}, 2);
  ASSERT_EQ(merged.size(), 2u);
  EXPECT_NEAR(merged[0].x1, (0.8f * 35 + 0.7f * 20) / 1.5f, 1e-4f)
      << "of an IoU of 0.74, the other's is 0.67";
  EXPECT_NEAR(merged[0].score, 0.75f, 1e-6f);
  EXPECT_NEAR(merged[1].x1, 0, 1e-4f);
  EXPECT_NEAR(merged[1].score, 0.45f, 1e-6f);
}

}  // namespace
}  // namespace brightnet
