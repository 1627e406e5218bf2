#include "detect/objects.h"

#include <gtest/gtest.h>

namespace brightnet {
namespace {

/// A detection whose box covers these pixels of a square input.
Detection covering(double x1, double y1, double x2, double y2, double side) {
  Detection detection;
  detection.box = {static_cast<float>((x1 + x2) / 2 / side), static_cast<float>((y1 + y2) / 2 / side),
                   static_cast<float>((x2 - x1) / side), static_cast<float>((y2 - y1) / side)};
  detection.class_id = 1;
  detection.score = 0.75f;
  return detection;
}

struct FitCase {
  const char* name;
  int width, height;
  InputFit fit;
  Detection detection;
  double x1, y1, x2, y2;  ///< the object in the image's pixels
};

class ObjectsInImage : public ::testing::TestWithParam<FitCase> {};

TEST_P(ObjectsInImage, CoversThePixelsThatTheDetectionCoveredInTheInput) {
  const FitCase& c = GetParam();
  const auto objects = objects_in_image({c.detection}, {}, c.width, c.height, c.fit);
  ASSERT_EQ(objects.size(), 1u);
  EXPECT_NEAR(objects[0].x1, c.x1, 1e-3);
  EXPECT_NEAR(objects[0].y1, c.y1, 1e-3);
  EXPECT_NEAR(objects[0].x2, c.x2, 1e-3);
  EXPECT_NEAR(objects[0].y2, c.y2, 1e-3);
  EXPECT_EQ(objects[0].class_id, 1);
  EXPECT_FLOAT_EQ(objects[0].score, 0.75f);
}

// A 400 × 200 image in an input of 100 is 100 × 50 of it, from row 25 on; an odd rest of rows is rounded down
// at the top.
INSTANTIATE_TEST_SUITE_P(
    Fits, ObjectsInImage,
    ::testing::Values(
        FitCase{"Stretched", 400, 200, {.size = 100}, covering(10, 20, 60, 80, 100), 40, 40, 240, 160},
        FitCase{"WideLetterboxed",
                400,
                200,
                {.size = 100, .letterbox = true},
                covering(10, 30, 60, 65, 100),
                40,
                20,
                240,
                160},
        FitCase{"TallLetterboxed",
                200,
                400,
                {.size = 100, .letterbox = true},
                covering(30, 10, 65, 60, 100),
                20,
                40,
                160,
                240},
        FitCase{"SquareLetterboxed",
                300,
                300,
                {.size = 100, .letterbox = true},
                covering(10, 30, 60, 65, 100),
                30,
                90,
                180,
                195},
        FitCase{"SmallLetterboxed",
                40,
                10,
                {.size = 80, .letterbox = true},
                covering(20, 30, 60, 50, 80),
                10,
                0,
                30,
                10},
        FitCase{"LetterboxedOfRoundedHeight",
                100,
                51,
                {.size = 50, .letterbox = true},
                covering(5, 12, 45, 38, 50),
                10,
                0,
                90,
                51},
        FitCase{"StretchedAsDarknet",
                400,
                200,
                {.size = 100, .resize = Resize::darknet},
                covering(10, 20, 60, 80, 100),
                40,
                40,
                240,
                160},
        FitCase{"LetterboxedAsDarknet",
                400,
                200,
                {.size = 100, .letterbox = true, .resize = Resize::darknet},
                covering(10, 30, 60, 65, 100),
                40,
                20,
                240,
                160}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(CutAtBorder, CutsEachSideAndDropsWhatIsOutside) {
  const auto cut = cut_at_border({{-5, -6, 20, 30, 0, 0.9f},
                                  {10, 20, 150, 90, 1, 0.8f},
                                  {10, 20, 30, 40, 2, 0.7f},
                                  {-9, 5, -1, 10, 0, 0.6f},
                                  {10, 80, 20, 95, 0, 0.5f},
                                  {100, 5, 120, 10, 0, 0.4f}},
                                 100, 80);
  ASSERT_EQ(cut.size(), 3u);
  const auto expect_box = [](const ScoredBox& box, float x1, float y1, float x2, float y2) {
    EXPECT_EQ(box.x1, x1);
    EXPECT_EQ(box.y1, y1);
    EXPECT_EQ(box.x2, x2);
    EXPECT_EQ(box.y2, y2);
  };
  expect_box(cut[0], 0, 0, 20, 30);
  expect_box(cut[1], 10, 20, 100, 80);
  expect_box(cut[2], 10, 20, 30, 40);
  EXPECT_EQ(cut[1].class_id, 1);
  EXPECT_EQ(cut[2].score, 0.7f);
}

// Whatever place() does to an object, objects_in_image() undoes, in inputs of any shape and by both rules.
TEST(ObjectsInImage, ComeBackFromRectangularInputs) {
  for (const InputSize& size : {InputSize(384, 1248), InputSize(736, 416)}) {
    for (const Resize resize : {Resize::antialiased, Resize::darknet}) {
      for (const bool letterbox : {false, true}) {
        for (const auto& [width, height] : {std::pair(1242, 375), {640, 480}, {300, 500}}) {
          const InputFit fit{.size = size, .letterbox = letterbox, .resize = resize};
          const Placement placement = place(width, height, fit);
          const double left = 10 * placement.scale_x + placement.offset_x,
                       right = 210 * placement.scale_x + placement.offset_x;
          const double top = 20 * placement.scale_y + placement.offset_y,
                       bottom = 90 * placement.scale_y + placement.offset_y;
          Detection detection = covering(0, 0, 1, 1, 1);
          detection.box = {static_cast<float>((left + right) / 2 / size.width),
                           static_cast<float>((top + bottom) / 2 / size.height),
                           static_cast<float>((right - left) / size.width),
                           static_cast<float>((bottom - top) / size.height)};
          const auto objects = objects_in_image({detection}, {}, width, height, fit);
          ASSERT_EQ(objects.size(), 1u);
          EXPECT_NEAR(objects[0].x1, 10, 1e-2);
          EXPECT_NEAR(objects[0].y1, 20, 1e-2);
          EXPECT_NEAR(objects[0].x2, 210, 1e-2);
          EXPECT_NEAR(objects[0].y2, 90, 1e-2);
        }
      }
    }
  }
}

}  // namespace
}  // namespace brightnet
