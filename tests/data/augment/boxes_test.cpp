#include "data/augment/boxes.h"

#include <gtest/gtest.h>

namespace brightnet {
namespace {

Annotation object(float x1, float y1, float x2, float y2, int class_id = 0) {
  Annotation annotation;
  annotation.x1 = x1;
  annotation.y1 = y1;
  annotation.x2 = x2;
  annotation.y2 = y2;
  annotation.class_id = class_id;
  return annotation;
}

void expect_corners(const Truth& truth, float size, float x1, float y1, float x2, float y2) {
  EXPECT_NEAR((truth.box.x - truth.box.w / 2) * size, x1, 1e-4);
  EXPECT_NEAR((truth.box.y - truth.box.h / 2) * size, y1, 1e-4);
  EXPECT_NEAR((truth.box.x + truth.box.w / 2) * size, x2, 1e-4);
  EXPECT_NEAR((truth.box.y + truth.box.h / 2) * size, y2, 1e-4);
}

TEST(PlaceBoxes, FollowScaleOffsetAndMirror) {
  std::vector<Truth> truths;
  place_boxes({object(10, 20, 30, 60, 3)}, {2, 0.5f, 5, 10}, {0, 0, 100, 100}, 100, 0.2f, truths);
  ASSERT_EQ(truths.size(), 1u);
  EXPECT_EQ(truths[0].class_id, 3);
  expect_corners(truths[0], 100, 25, 20, 65, 40);
  place_boxes({object(10, 20, 30, 60)}, {-2, 0.5f, 90, 10}, {0, 0, 100, 100}, 100, 0.2f, truths);
  ASSERT_EQ(truths.size(), 2u) << "truths are appended";
  expect_corners(truths[1], 100, 30, 20, 70, 40);
}

TEST(PlaceBoxes, AreClippedToWhatIsSeen) {
  std::vector<Truth> truths;
  place_boxes({object(10, 10, 50, 50)}, {}, {30, 20, 80, 80}, 100, 0.2f, truths);
  ASSERT_EQ(truths.size(), 1u);
  expect_corners(truths[0], 100, 30, 20, 50, 50);
}

TEST(PlaceBoxes, AreDroppedWhenTooLittleIsLeft) {
  std::vector<Truth> truths;
  const InputPart part{0, 0, 100, 100};
  place_boxes({object(-81, 10, 19, 20)}, {}, part, 100, 0.2f, truths);
  EXPECT_TRUE(truths.empty()) << "19 % are left";
  place_boxes({object(-79, 10, 21, 20)}, {}, part, 100, 0.2f, truths);
  EXPECT_EQ(truths.size(), 1u) << "21 % are left";
  truths.clear();
  place_boxes({object(10, 10, 11.9f, 50), object(10, -5, 50, 1.9f)}, {}, part, 100, 0, truths);
  EXPECT_TRUE(truths.empty()) << "less than two pixels are left";
  place_boxes({object(-30, 10, -10, 50), object(120, 10, 130, 50)}, {}, part, 100, 0, truths);
  EXPECT_TRUE(truths.empty()) << "nothing is left";
}

TEST(PlaceBoxes, CrowdsAreNotTrainedOnDifficultOnesAre) {
  Annotation crowd = object(10, 10, 50, 50), difficult = object(20, 20, 60, 60);
  crowd.crowd = true;
  difficult.difficult = true;
  std::vector<Truth> truths;
  place_boxes({crowd, difficult}, {}, {0, 0, 100, 100}, 100, 0.2f, truths);
  ASSERT_EQ(truths.size(), 1u);
  expect_corners(truths[0], 100, 20, 20, 60, 60);
}

}  // namespace
}  // namespace brightnet
