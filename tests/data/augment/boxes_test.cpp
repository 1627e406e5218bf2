#include "data/augment/boxes.h"

#include <cmath>
#include <cstring>

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

TEST(PlaceBoxes, InTheWholeInputAreClippedAtItsBorders) {
  std::vector<Truth> truths;
  const InputSize size(50, 100);
  place_boxes({object(-10, -10, 200, 200), object(-100, 10, 3, 20), object(-100, 10, 1, 20)}, {}, size,
              truths);
  ASSERT_EQ(truths.size(), 2u) << "three pixels are enough, one is not";
  EXPECT_EQ(truths[0].box.x, 0.5f);
  EXPECT_EQ(truths[0].box.y, 0.5f);
  EXPECT_EQ(truths[0].box.w, 1.0f);
  EXPECT_EQ(truths[0].box.h, 1.0f);
  EXPECT_FLOAT_EQ(truths[1].box.w, 0.03f);
}

// In a mosaic the parts meet inside the input, so that each side of a part may be a seam.
TEST(PlaceBoxes, EndAtEachSideOfThePartWhereverItLies) {
  const InputPart part{30, 20, 80, 70};
  const struct {
    Annotation object;
    float x1, y1, x2, y2;
  } cases[] = {{object(10, 40, 50, 60), 30, 40, 50, 60},     {object(60, 40, 95, 60), 60, 40, 80, 60},
               {object(40, 5, 60, 50), 40, 20, 60, 50},      {object(40, 50, 60, 90), 40, 50, 60, 70},
               {object(-10, -20, 130, 140), 30, 20, 80, 70}, {object(31, 21, 79, 69), 31, 21, 79, 69}};
  for (const Placement& placement : {Placement{}, Placement{-1, 1, 100, 0}}) {
    for (const auto& expected : cases) {
      Annotation object = expected.object;
      if (placement.scale_x < 0) {
        object.x1 = 100 - expected.object.x2;
        object.x2 = 100 - expected.object.x1;
      }
      std::vector<Truth> truths;
      place_boxes({object}, placement, part, 100, 0, truths);
      ASSERT_EQ(truths.size(), 1u);
      expect_corners(truths[0], 100, expected.x1, expected.y1, expected.x2, expected.y2);
    }
  }
}

TEST(PlaceBoxes, AreDroppedByWhatThePartLeavesOfThem) {
  const InputPart part{30, 20, 80, 70};
  std::vector<Truth> truths;
  // Of 40 × 20 pixels, 9 or 7 columns are in the part on either side, and 5 or 3 rows of 20 above and below.
  for (const auto& few :
       {object(-3, 40, 37, 60), object(73, 40, 113, 60), object(40, 3, 80, 23), object(40, 67, 80, 87)}) {
    place_boxes({few}, {}, part, 100, 0.2f, truths);
    EXPECT_TRUE(truths.empty()) << few.x1 << ' ' << few.y1;
  }
  for (const auto& enough :
       {object(-1, 40, 39, 60), object(71, 40, 111, 60), object(40, 5, 80, 25), object(40, 65, 80, 85)}) {
    truths.clear();
    place_boxes({enough}, {}, part, 100, 0.2f, truths);
    EXPECT_EQ(truths.size(), 1u) << enough.x1 << ' ' << enough.y1;
  }
  truths.clear();
  place_boxes({object(0, 40, 31.9f, 60), object(78.1f, 40, 99, 60), object(40, 0, 60, 21.9f),
               object(40, 68.1f, 60, 99), object(0, 40, 29, 60), object(81, 40, 99, 60)},
              {}, part, 100, 0, truths);
  EXPECT_TRUE(truths.empty()) << "less than two pixels are left in the part";
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

TEST(PlaceBoxes, FollowAVerticalMirror) {
  std::vector<Truth> truths;
  place_boxes({object(10, 20, 30, 60)}, Placement{1, -1, 0, 100}, {0, 0, 100, 100}, 100, 0.2f, truths);
  ASSERT_EQ(truths.size(), 1u);
  expect_corners(truths[0], 100, 10, 40, 30, 80);
}

const Homography eighth_turn = [] {  // about (50, 50)
  const double c = std::sqrt(0.5);
  return Homography(c, -c, 50, c, c, 50, 0, 0, 1) * Homography(1, 0, -50, 0, 1, -50, 0, 0, 1);
}();

std::vector<Truth> turned(const Annotation& annotation, WarpedBoxes rule, const InputPart& part,
                          float min_visible = 0.2f) {
  std::vector<Truth> truths;
  place_boxes({annotation}, eighth_turn, rule, part, 100, min_visible, truths);
  return truths;
}

TEST(PlaceBoxes, OfTurnedObjectsAreThoseOfTheCornersOrOfTheEllipse) {
  const InputPart all{0, 0, 100, 100};
  const auto corners = turned(object(40, 45, 60, 55), WarpedBoxes::corners, all);
  ASSERT_EQ(corners.size(), 1u);
  const float reach = 15 * std::sqrt(0.5f);  // 10 · cos 45° + 5 · sin 45°
  expect_corners(corners[0], 100, 50 - reach, 50 - reach, 50 + reach, 50 + reach);
  const auto ellipse = turned(object(40, 45, 60, 55), WarpedBoxes::ellipse, all);
  ASSERT_EQ(ellipse.size(), 1u);
  const float radius = std::sqrt(0.5f * (10 * 10 + 5 * 5));  // √((10 · cos 45°)² + (5 · sin 45°)²)
  EXPECT_NEAR(ellipse[0].box.w * 100, 2 * radius, 0.02);
  EXPECT_NEAR(ellipse[0].box.h * 100, 2 * radius, 0.02);
  EXPECT_NEAR(ellipse[0].box.x, 0.5, 1e-4);
}

TEST(PlaceBoxes, OfTurnedObjectsCrowdsAreNotTrainedOnEither) {
  Annotation crowd = object(40, 45, 60, 55);
  crowd.crowd = true;
  for (const WarpedBoxes rule : enum_values<WarpedBoxes>())
    EXPECT_TRUE(turned(crowd, rule, {0, 0, 100, 100}).empty());
}

TEST(PlaceBoxes, OfTurnedObjectsEndWhereTheirCornersDo) {
  // The lower right half of the diamond: its extent upwards and to the left is that of the cut.
  const auto truths = turned(object(40, 40, 60, 60), WarpedBoxes::corners, {50, 0, 100, 100});
  ASSERT_EQ(truths.size(), 1u);
  const float reach = 10 * std::sqrt(2.0f);
  expect_corners(truths[0], 100, 50, 50 - reach, 50 + reach, 50 + reach);
  const auto tip = turned(object(40, 40, 60, 60), WarpedBoxes::corners, {50 + reach - 6, 0, 100, 100}, 0);
  ASSERT_EQ(tip.size(), 1u);
  expect_corners(tip[0], 100, 50 + reach - 6, 44, 50 + reach, 56);
}

TEST(PlaceBoxes, OfTurnedObjectsAreDroppedByTheAreaBetweenTheCorners) {
  const float reach = 10 * std::sqrt(2.0f);
  // A tip with legs of 9 pixels of 20 has a tenth of the area; that of the box around it would be a fifth.
  const float tenth = reach - 20 * std::sqrt(0.1f);
  for (const WarpedBoxes rule : enum_values<WarpedBoxes>()) {
    EXPECT_EQ(turned(object(40, 40, 60, 60), rule, {50 + tenth, 0, 100, 100}, 0.11f).size(), 0u);
    EXPECT_EQ(turned(object(40, 40, 60, 60), rule, {50 + tenth, 0, 100, 100}, 0.09f).size(), 1u);
  }
}

TEST(PlaceBoxes, ByAMapThatKeepsTheAxesAreThoseOfThePlacement) {
  std::vector<Truth> expected, truths;
  const Placement placement{-0.7f, 0.9f, 80, 3};
  const std::vector<Annotation> objects{object(10, 20, 30, 60), object(-20, 20, 30, 200)};
  place_boxes(objects, placement, {0, 0, 100, 100}, 100, 0.2f, expected);
  place_boxes(objects, homography_of(placement), WarpedBoxes::corners, {0, 0, 100, 100}, 100, 0.2f, truths);
  ASSERT_EQ(truths.size(), expected.size());
  for (size_t i = 0; i < truths.size(); ++i)
    EXPECT_EQ(std::memcmp(&truths[i], &expected[i], sizeof(Truth)), 0);
}

// 84 · (96 / 84) is 96.00001 in fp32: the box of an object that fills its image is cut by that.
TEST(PlaceBoxes, AreNotHiddenByRounding) {
  const InputPart whole{0, 0, 96, 96}, smaller{0, 0, 95, 96};
  for (int side = 50; side < 200; ++side) {
    const auto length = static_cast<float>(side);
    const std::vector<Annotation> objects{object(0, 0, length, length)};
    const Placement placement{96 / length, 96 / length, 0, 0};
    const Homography map = homography_of(placement);
    std::vector<Truth> kept, dropped;
    place_boxes(objects, placement, whole, 96, 1, kept);
    place_boxes(objects, transposed(map), WarpedBoxes::corners, whole, 96, 1, kept);
    place_boxes(objects, placement, smaller, 96, 1, dropped);
    place_boxes(objects, transposed(map), WarpedBoxes::corners, smaller, 96, 1, dropped);
    EXPECT_EQ(kept.size(), 2u) << side;
    EXPECT_EQ(dropped.size(), 0u) << side;
  }
}

TEST(ClipBoxes, FollowTheSameRulesInTheInput) {
  std::vector<Truth> truths{
      {{0.3f, 0.3f, 0.2f, 0.2f}, 4}, {{0.42f, 0.5f, 0.2f, 0.2f}, 5}, {{0.9f, 0.9f, 0.1f, 0.1f}, 6}};
  clip_boxes(truths, {30, 0, 100, 80}, 100, 0.5f);
  ASSERT_EQ(truths.size(), 2u) << "of the last nothing is left";
  EXPECT_EQ(truths[0].class_id, 4);
  expect_corners(truths[0], 100, 30, 20, 40, 40);
  EXPECT_EQ(truths[1].class_id, 5);
  expect_corners(truths[1], 100, 32, 40, 52, 60);
  clip_boxes(truths, {38, 0, 100, 80}, 100, 0.5f);
  EXPECT_EQ(truths.size(), 1u) << "of the first a fifth was left";
}

}  // namespace
}  // namespace brightnet
