#include "data/augment/crop.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace brightnet {
namespace {

TEST(PlaceCrop, PutsTheCropOntoTheWholeInput) {
  ImageDraw draw;
  draw.left = 0.1f;
  draw.right = -0.2f;
  draw.top = 0.25f;
  draw.bottom = 0.05f;
  Placement placement = place_crop(draw, 200, 100, 64, false);
  EXPECT_NEAR(20 * placement.scale_x + placement.offset_x, 0, 1e-4);
  EXPECT_NEAR(240 * placement.scale_x + placement.offset_x, 64, 1e-4);
  EXPECT_NEAR(25 * placement.scale_y + placement.offset_y, 0, 1e-4);
  EXPECT_NEAR(95 * placement.scale_y + placement.offset_y, 64, 1e-4);
  draw.flip = true;
  placement = place_crop(draw, 200, 100, 64, false);
  EXPECT_NEAR(20 * placement.scale_x + placement.offset_x, 64, 1e-4);
  EXPECT_NEAR(240 * placement.scale_x + placement.offset_x, 0, 1e-4);
}

TEST(PlaceCrop, LetterboxWithoutMarginsIsThatOfEvaluation) {
  for (const InputSize& size : {InputSize(416), InputSize(192, 320), InputSize(320, 192)}) {
    for (const auto& [width, height] : {std::pair(640, 480), {480, 640}}) {
      const Placement training = place_crop({}, width, height, size, true),
                      evaluation = place(width, height, size, true);
      EXPECT_FLOAT_EQ(training.scale_x, evaluation.scale_x) << size.text() << ' ' << width;
      EXPECT_FLOAT_EQ(training.scale_y, evaluation.scale_y) << size.text() << ' ' << width;
      EXPECT_NEAR(training.offset_x, evaluation.offset_x, 1e-3) << size.text() << ' ' << width;
      EXPECT_NEAR(training.offset_y, evaluation.offset_y, 1e-3) << size.text() << ' ' << width;
    }
  }
}

TEST(PlaceCrop, LetterboxedMarginsAreThoseOfTheExtendedImage) {
  ImageDraw draw;
  draw.left = draw.right = 0.1f;
  draw.top = 0.25f;
  // Extended to 200 × 200 pixels, 50 of which are above the image: the crop begins where the image does, and ends 50
  // pixels below it.
  const Placement placement = place_crop(draw, 200, 100, 64, true);
  EXPECT_NEAR(20 * placement.scale_x + placement.offset_x, 0, 1e-4);
  EXPECT_NEAR(180 * placement.scale_x + placement.offset_x, 64, 1e-4);
  EXPECT_NEAR(placement.offset_y, 0, 1e-4);
  EXPECT_NEAR(150 * placement.scale_y + placement.offset_y, 64, 1e-4);
}

TEST(DrawImage, MarginsStayWithinTheJitterAndReachIt) {
  AugmentOptions options;
  options.jitter = 0.3f;
  float low = 1, high = -1;
  int flips = 0, alike = 0;
  for (uint64_t i = 0; i < 2000; ++i) {
    Random random(1, Purpose::test, 0, i);
    const ImageDraw draw = draw_image(random, options);
    low = std::min({low, draw.left, draw.right, draw.top, draw.bottom});
    high = std::max({high, draw.left, draw.right, draw.top, draw.bottom});
    flips += draw.flip;
    alike += draw.left == draw.right || draw.top == draw.bottom || draw.left == draw.top;
  }
  EXPECT_NEAR(low, -0.3, 0.002);
  EXPECT_NEAR(high, 0.3, 0.002);
  EXPECT_NEAR(flips, 1000, 100);
  EXPECT_LT(alike, 5) << "each margin is drawn by itself";
}

TEST(DrawImage, ResizeZoomsBothWaysAboutTheCentre) {
  AugmentOptions options;
  options.jitter = 0;
  options.resize = 2;
  float low = 9, high = 0;
  int nearer = 0;
  for (uint64_t i = 0; i < 2000; ++i) {
    Random random(1, Purpose::test, 0, i);
    const ImageDraw draw = draw_image(random, options);
    EXPECT_FLOAT_EQ(draw.left, draw.right);
    EXPECT_FLOAT_EQ(draw.left, draw.top);
    const float crop = 1 - draw.left - draw.right;
    low = std::min(low, crop);
    high = std::max(high, crop);
    nearer += crop < 1;
  }
  EXPECT_NEAR(low, 0.5, 0.01);
  EXPECT_NEAR(high, 2, 0.01);
  EXPECT_NEAR(nearer, 1000, 100);
}

TEST(SmallestCrop, BoundsWhateverIsDrawn) {
  AugmentOptions options;
  options.jitter = 0.4f;
  options.resize = 1.5f;
  float smallest = 1;
  for (uint64_t i = 0; i < 5000; ++i) {
    Random random(1, Purpose::test, 0, i);
    const ImageDraw draw = draw_image(random, options);
    smallest = std::min({smallest, 1 - draw.left - draw.right, 1 - draw.top - draw.bottom});
  }
  EXPECT_GE(smallest, smallest_crop(options));
  EXPECT_LT(smallest, smallest_crop(options) * 1.25f);
}

TEST(DrawColor, StaysInItsLimitsAndReachesThem) {
  AugmentOptions options;
  options.hue = 0.1f;
  options.saturation = 1.5f;
  options.exposure = 2;
  ColorChange low{1, 9, 9}, high{-1, 0, 0};
  int darker_and_paler = 0;
  for (uint64_t i = 0; i < 2000; ++i) {
    Random random(1, Purpose::test, 0, i);
    const ColorChange change = draw_color(random, options);
    low = {std::min(low.hue, change.hue), std::min(low.saturation, change.saturation),
           std::min(low.exposure, change.exposure)};
    high = {std::max(high.hue, change.hue), std::max(high.saturation, change.saturation),
            std::max(high.exposure, change.exposure)};
    darker_and_paler += change.saturation < 1 && change.exposure < 1;
  }
  EXPECT_NEAR(low.hue, -0.1, 0.002);
  EXPECT_NEAR(high.hue, 0.1, 0.002);
  EXPECT_NEAR(low.saturation, 1 / 1.5, 0.01);
  EXPECT_NEAR(high.saturation, 1.5, 0.01);
  EXPECT_NEAR(low.exposure, 0.5, 0.01);
  EXPECT_NEAR(high.exposure, 2, 0.01);
  EXPECT_NEAR(darker_and_paler, 500, 90) << "the two are turned round independently";
}

TEST(DrawColor, NothingToDrawChangesNothing) {
  AugmentOptions options;
  options.hue = 0;
  options.saturation = options.exposure = 1;
  Random random(1, Purpose::test);
  EXPECT_FALSE(draw_color(random, options).changes());
}

}  // namespace
}  // namespace brightnet
