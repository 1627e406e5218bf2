#include "data/image/placement.h"

#include <gtest/gtest.h>

namespace brightnet {
namespace {

TEST(Placement, StretchesBothSidesToTheInput) {
  const Placement placement = place(640, 480, 416, false);
  EXPECT_FLOAT_EQ(placement.scale_x, 0.65f);
  EXPECT_FLOAT_EQ(placement.scale_y, 416.0f / 480);
  EXPECT_EQ(placement.offset_x, 0);
  EXPECT_EQ(placement.offset_y, 0);
}

TEST(Placement, LetterboxKeepsTheAspectAndCentres) {
  const Placement wide = place(640, 480, 416, true);
  EXPECT_FLOAT_EQ(wide.scale_x, 0.65f);
  EXPECT_FLOAT_EQ(wide.scale_y, 0.65f);
  EXPECT_EQ(wide.offset_x, 0);
  EXPECT_EQ(wide.offset_y, 52);
  const Placement tall = place(100, 301, 64, true);
  EXPECT_FLOAT_EQ(tall.scale_y, 64.0f / 301);
  EXPECT_FLOAT_EQ(tall.scale_x, 0.21f) << "100 · 64/301 = 21.26 pixels become 21 whole ones";
  EXPECT_EQ(tall.offset_x, 21);
}

TEST(Placement, ALetterboxedSideIsRoundedToTheNearestPixel) {
  // 100 · 64/301 = 21.26 pixels become 21, and 100 · 64/291 = 21.99 become 22; half a pixel becomes a
  // whole one.
  for (const auto& [length, pixels] : {std::pair(301, 21), {291, 22}}) {
    const Placement wide = place(length, 100, 64, true), tall = place(100, length, 64, true);
    EXPECT_FLOAT_EQ(wide.scale_y, static_cast<float>(pixels) / 100) << length;
    EXPECT_FLOAT_EQ(tall.scale_x, static_cast<float>(pixels) / 100) << length;
    EXPECT_EQ(wide.offset_y, 21) << length;
    EXPECT_EQ(tall.offset_x, 21) << length;
  }
  EXPECT_FLOAT_EQ(place(128, 43, 64, true).scale_y, 22.0f / 43);
  EXPECT_FLOAT_EQ(place(43, 128, 64, true).scale_x, 22.0f / 43);
}

TEST(Placement, AThreadOfAnImageStillCoversAPixel) {
  const Placement placement = place(10000, 1, 32, true);
  EXPECT_FLOAT_EQ(placement.scale_y, 1);
  EXPECT_EQ(placement.offset_y, 15);
}

// 640 x 480 into 384 x 1248 (height, width): the sides have factors of their own, and a letterbox the lesser.
TEST(Placement, ARectangularInputHasItsOwnHeightAndWidth) {
  const InputSize wide(384, 1248);
  const Placement stretched = place(640, 480, wide, false);
  EXPECT_FLOAT_EQ(stretched.scale_x, 1248.0f / 640);
  EXPECT_FLOAT_EQ(stretched.scale_y, 384.0f / 480);
  const Placement boxed = place(640, 480, wide, true);
  EXPECT_FLOAT_EQ(boxed.scale_x, 0.8f) << "the height decides";
  EXPECT_FLOAT_EQ(boxed.scale_y, 0.8f);
  EXPECT_EQ(boxed.offset_x, (1248 - 512) / 2);
  EXPECT_EQ(boxed.offset_y, 0);
  const Placement tall = place(1000, 100, InputSize(1248, 384), true);
  EXPECT_FLOAT_EQ(tall.scale_x, 0.384f) << "the width decides";
  EXPECT_EQ(tall.offset_x, 0);
  EXPECT_EQ(tall.offset_y, (1248 - 38) / 2);
}

}  // namespace
}  // namespace brightnet
