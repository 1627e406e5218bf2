#include "data/augment/geometry.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "data/augment/crop.h"

namespace brightnet {
namespace {

AugmentOptions everything() {
  AugmentOptions options;
  options.vertical_flip = 0.5f;
  options.quarter_turns = 0.75f;
  options.rotate = 20;
  options.scale = 0.5f;
  options.translate = 0.2f;
  options.shear = 10;
  options.perspective = 0.0005f;
  return options;
}

GeometryDraw draw_number(uint64_t number, const AugmentOptions& options) {
  Random random(1, Purpose::test, 0, number);
  return draw_geometry(random, options);
}

TEST(DrawGeometry, StaysInItsLimitsAndReachesThem) {
  const AugmentOptions options = everything();
  struct Limits {
    float low = 1e9f, high = -1e9f;
    void add(float value) {
      low = std::min(low, value);
      high = std::max(high, value);
    }
  } angle, gain, x, y, shear_x, shear_y, perspective_x, perspective_y;
  int flips = 0, alike = 0, turns[4] = {};
  for (uint64_t i = 0; i < 2000; ++i) {
    const GeometryDraw draw = draw_number(i, options);
    angle.add(draw.angle);
    gain.add(draw.gain);
    x.add(draw.translate_x);
    y.add(draw.translate_y);
    shear_x.add(draw.shear_x);
    shear_y.add(draw.shear_y);
    perspective_x.add(draw.perspective_x);
    perspective_y.add(draw.perspective_y);
    flips += draw.vertical_flip;
    alike += draw.translate_x == draw.translate_y || draw.shear_x == draw.shear_y ||
             draw.perspective_x == draw.perspective_y;
    ++turns[draw.quarter_turns];
  }
  const auto expect = [](const Limits& drawn, double low, double high) {
    const double tolerance = (high - low) / 200;
    EXPECT_NEAR(drawn.low, low, tolerance);
    EXPECT_NEAR(drawn.high, high, tolerance);
    EXPECT_GE(drawn.low, static_cast<float>(low));
    EXPECT_LE(drawn.high, static_cast<float>(high));
  };
  expect(angle, -20, 20);
  expect(gain, 0.5, 1.5);
  expect(x, -0.2f, 0.2f);
  expect(y, -0.2f, 0.2f);
  expect(shear_x, -10, 10);
  expect(shear_y, -10, 10);
  expect(perspective_x, -0.0005f, 0.0005f);
  expect(perspective_y, -0.0005f, 0.0005f);
  EXPECT_NEAR(flips, 1000, 100);
  EXPECT_LT(alike, 5) << "each axis is drawn by itself";
  for (const int count : turns) EXPECT_NEAR(count, 500, 80) << "a quarter of the images each";
}

TEST(DrawGeometry, WhatIsOffIsNotDrawnAndWhatIsSureAlwaysIs) {
  EXPECT_FALSE(draws_geometry(AugmentOptions{}));
  AugmentOptions sure;
  sure.vertical_flip = sure.quarter_turns = 1;
  for (uint64_t i = 0; i < 100; ++i) {
    const GeometryDraw none = draw_number(i, {}), all = draw_number(i, sure);
    EXPECT_FALSE(none.vertical_flip);
    EXPECT_EQ(none.quarter_turns, 0);
    EXPECT_EQ(none.gain, 1);
    const Placement placement{0.5f, -0.3f, 4.3f, 61.7f};
    const auto same = placement_of(apply_geometry(placement, none, {100, 100}, 64, false));
    ASSERT_TRUE(same);
    EXPECT_EQ(same->offset_x, placement.offset_x) << "to the bit";
    EXPECT_EQ(same->scale_y, placement.scale_y);
    EXPECT_TRUE(all.vertical_flip);
    EXPECT_NE(all.quarter_turns, 0);
  }
}

TEST(DrawGeometry, EachOptionByItselfIsDrawn) {
  for (float AugmentOptions::*option :
       {&AugmentOptions::vertical_flip, &AugmentOptions::quarter_turns, &AugmentOptions::rotate,
        &AugmentOptions::scale, &AugmentOptions::translate, &AugmentOptions::shear,
        &AugmentOptions::perspective}) {
    AugmentOptions alone;
    alone.*option = 1e-4f;
    EXPECT_TRUE(draws_geometry(alone));
  }
}

TEST(DrawGeometry, OneOptionDoesNotChangeWhatIsDrawnForAnother) {
  AugmentOptions alone;
  alone.shear = everything().shear;
  for (uint64_t i = 0; i < 20; ++i)
    EXPECT_EQ(draw_number(i, alone).shear_y, draw_number(i, everything()).shear_y);
}

// Worked out by hand for an image of 40 × 20 that fills an input of 100 × 100.
TEST(ApplyGeometry, PutsTheUpperLeftCornerWhereItBelongs) {
  const Placement placement{2.5f, 5, 0, 0};
  const auto corner_of = [&](const GeometryDraw& draw) {
    return *project(apply_geometry(placement, draw, {100, 100}, 100, false), {0, 0});
  };
  const auto expect = [&](const GeometryDraw& draw, double x, double y) {
    EXPECT_NEAR(corner_of(draw).x, x, 1e-3);
    EXPECT_NEAR(corner_of(draw).y, y, 1e-3);
  };
  GeometryDraw draw;
  expect(draw, 0, 0);
  draw.vertical_flip = true;
  expect(draw, 0, 100);
  draw = {};
  draw.quarter_turns = 1;
  expect(draw, 100, 0);
  draw.quarter_turns = 2;
  expect(draw, 100, 100);
  draw.quarter_turns = 3;
  expect(draw, 0, 100);
  draw = {};
  draw.gain = 1.5f;
  expect(draw, -25, -25);
  draw = {};
  draw.translate_x = 0.1f;
  draw.translate_y = -0.2f;
  expect(draw, 10, -20);
  // In the image's own proportions the input is 100·√½ wide and 100·√2 high on either side of its centre.
  draw = {};
  draw.angle =
      90;  // clockwise: (−20, −10) of the image from its middle goes to (10, −20), stretched by 2.5 and 5
  expect(draw, 50 + 10 * 2.5, 50 - 20 * 5);
  draw = {};
  draw.shear_x = 45;  // (−20, −10) goes to (−30, −10)
  expect(draw, 50 - 30 * 2.5, 50 - 10 * 5);
  draw = {};
  draw.perspective_x =
      0.0005f;  // 1 at the centre, and at a distance of √2 · 50 pixels to the left, of 100 for 640:
  const double depth = 1 - 0.0005 * 6.4 * 50 * std::sqrt(2.0);
  expect(draw, 50 - 50 / depth, 50 - 50 / depth);
  draw = {};
  draw.perspective_y = 0.0005f;  // at a distance of √½ · 50 pixels above the centre
  const double depth_above = 1 - 0.0005 * 6.4 * 50 * std::sqrt(0.5);
  expect(draw, 50 - 50 / depth_above, 50 - 50 / depth_above);
  draw = {};
  draw.shear_y = 45;  // (−20, −10) goes to (−20, −30)
  expect(draw, 50 - 20 * 2.5, 50 - 30 * 5);
  // One after the other: first the flip, then the turn; first the rotation, to (10, −20), then the shear, to (−10, −20).
  draw = {};
  draw.vertical_flip = true;
  draw.quarter_turns = 1;
  expect(draw, 0, 0);
  draw = {};
  draw.angle = 90;
  draw.shear_x = 45;
  expect(draw, 50 - 10 * 2.5, 50 - 20 * 5);
}

// 40 × 20 pixels that fill an input of 200 × 100.
TEST(ApplyGeometry, MeasuresARectangularInputByEachOfItsSides) {
  const auto corner_of = [](const GeometryDraw& draw) {
    return *project(apply_geometry({5, 5, 0, 0}, draw, {40, 20}, InputSize(100, 200), false), {0, 0});
  };
  GeometryDraw shift, along, down;
  shift.translate_x = 0.1f;
  shift.translate_y = -0.2f;
  EXPECT_NEAR(corner_of(shift).x, 20, 1e-3);
  EXPECT_NEAR(corner_of(shift).y, -20, 1e-3);
  along.perspective_x = down.perspective_y = 0.0005f;  // of 640 pixels: at the edge 1 − 320 · 0.0005
  for (const GeometryDraw& draw : {along, down}) {
    EXPECT_NEAR(corner_of(draw).x, 100 - 100 / 0.84, 1e-3);
    EXPECT_NEAR(corner_of(draw).y, 50 - 50 / 0.84, 1e-3);
  }
}

// The placement stretches the image; a circle of it must stay the ellipse that it is without rotation.
TEST(ApplyGeometry, TurnsCirclesIntoThemselvesWhateverTheStretching) {
  const Placement placement{0.3f, 0.9f, 5, -7};
  GeometryDraw draw;
  draw.angle = 37;
  const Homography map = apply_geometry(placement, draw, {100, 100}, 100, false);
  const cv::Point2d middle = *project(map, {150, 63.3333});
  for (int degrees = 0; degrees < 360; degrees += 30) {
    const double radians = degrees * CV_PI / 180;
    const cv::Point2d at = *project(map, {150 + 10 * std::cos(radians), 63.3333 + 10 * std::sin(radians)});
    EXPECT_NEAR(std::hypot((at.x - middle.x) / 0.3, (at.y - middle.y) / 0.9), 10, 1e-3);
  }
}

TEST(ApplyGeometry, DistortsAllSizesOfInputAlike) {
  GeometryDraw draw;
  draw.angle = 10;
  draw.perspective_x = 0.0007f;
  draw.perspective_y = -0.0003f;
  draw.translate_x = 0.1f;
  const Homography small = apply_geometry({0.5f, 0.8f, 0, 0}, draw, {100, 100}, 320, false);
  const Homography large = apply_geometry({1, 1.6f, 0, 0}, draw, {100, 100}, 640, false);
  for (const cv::Point2d point : {cv::Point2d(10, 20), cv::Point2d(500, 300)}) {
    EXPECT_NEAR(project(small, point)->x * 2, project(large, point)->x, 1e-6);
    EXPECT_NEAR(project(small, point)->y * 2, project(large, point)->y, 1e-6);
  }
}

TEST(LargestEnlargement, BoundsWhateverIsDrawn) {
  EXPECT_EQ(largest_enlargement({}), 1);
  AugmentOptions options = everything();
  options.translate = 0;  // what is beyond the input's edge may be larger
  options.quarter_turns = 0;
  float largest = 0;
  for (uint64_t i = 0; i < 2000; ++i) {
    const Homography map = apply_geometry({1, 1, 0, 0}, draw_number(i, options), {100, 100}, 640, false);
    for (const cv::Point2d at : corners_of({100, 100, 440, 440})) {
      const cv::Point2d here = *project(map, at);
      for (int degrees = 0; degrees < 180; degrees += 20) {
        const double radians = degrees * CV_PI / 180;
        const cv::Point2d there =
            *project(map, at + cv::Point2d(std::cos(radians), std::sin(radians)) * 0.01);
        largest = std::max(largest, static_cast<float>(cv::norm(there - here) / 0.01));
      }
    }
  }
  EXPECT_LE(largest, largest_enlargement(options));
  EXPECT_GT(largest, 0.4f * largest_enlargement(options));
  AugmentOptions plain;
  EXPECT_FLOAT_EQ(smallest_crop(options), smallest_crop(plain) / largest_enlargement(options));
}

// The corners of the image, wherever they go, span what place() gives an image that was turned beforehand.
TEST(ApplyGeometry, ATurnedImageIsFittedToARectangularInputLikeAnUprightOne) {
  const InputSize size(384, 1248);
  for (const bool letterbox : {false, true}) {
    for (const cv::Size image : {cv::Size(1280, 720), cv::Size(300, 400), cv::Size(1250, 380)}) {
      const Placement upright = place_crop({}, image.width, image.height, size, letterbox);
      GeometryDraw draw;
      draw.quarter_turns = 1;
      const Homography map = apply_geometry(upright, draw, image, size, letterbox);
      const cv::Rect2d seen = bounds_of(project(map, corners_of(cv::Rect2d(0, 0, image.width, image.height)),
                                                cv::Rect2d(-1e4, -1e4, 2e4, 2e4)));
      const Placement turned = place_crop({}, image.height, image.width, size, letterbox);
      EXPECT_NEAR(seen.x, turned.offset_x, 1e-2) << image << letterbox;
      EXPECT_NEAR(seen.y, turned.offset_y, 1e-2) << image << letterbox;
      EXPECT_NEAR(seen.width, image.height * turned.scale_x, 1e-2) << image << letterbox;
      EXPECT_NEAR(seen.height, image.width * turned.scale_y, 1e-2) << image << letterbox;
    }
  }
}

// A circle of the image stays a circle of a letterboxed input, and where the input stretches it the ellipse that it is
// without rotation.
TEST(ApplyGeometry, RotatesAboutTheCentreOfARectangularInput) {
  const InputSize size(200, 600);
  const cv::Size image(400, 300);
  // Half the width and height of a circle around the image's centre, where the map puts it.
  const auto extent = [](const Homography& map) {
    const cv::Point2d centre = *project(map, {200, 150});
    cv::Point2d most(0, 0);
    for (int i = 0; i < 720; ++i) {
      const double angle = i * CV_PI / 360;
      const cv::Point2d at = *project(map, {200 + 50 * std::cos(angle), 150 + 50 * std::sin(angle)});
      most = {std::max(most.x, std::abs(at.x - centre.x)), std::max(most.y, std::abs(at.y - centre.y))};
    }
    return most;
  };
  for (const bool letterbox : {false, true}) {
    for (const int turns : {0, 1}) {
      const Placement placement = place_crop({}, image.width, image.height, size, letterbox);
      GeometryDraw draw;
      draw.quarter_turns = turns;
      const cv::Point2d unrotated = extent(apply_geometry(placement, draw, image, size, letterbox));
      draw.angle = 33;
      const Homography map = apply_geometry(placement, draw, image, size, letterbox);
      const cv::Point2d centre = *project(map, {200, 150});
      EXPECT_NEAR(centre.x, 300, 1e-4);  // a Placement is fp32
      EXPECT_NEAR(centre.y, 100, 1e-4);
      EXPECT_NEAR(extent(map).x, unrotated.x, 1e-2) << letterbox << turns;
      EXPECT_NEAR(extent(map).y, unrotated.y, 1e-2) << letterbox << turns;
      if (letterbox) {
        EXPECT_NEAR(unrotated.x, unrotated.y, 0.2) << "a circle, but for the letterbox's whole pixels";
      }
    }
  }
}

}  // namespace
}  // namespace brightnet
