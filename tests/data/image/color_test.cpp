#include "data/image/color.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "core/random.h"

namespace brightnet {
namespace {

// The textbook's way (Smith 1978): sextant by sextant, in fp64.
std::array<double, 3> reference(std::array<double, 3> rgb, const ColorChange& change) {
  const double value = std::max({rgb[0], rgb[1], rgb[2]}), least = std::min({rgb[0], rgb[1], rgb[2]});
  const double chroma = value - least;
  double hue = 0;
  if (chroma > 0) {
    if (value == rgb[0]) {
      hue = 60 * (rgb[1] - rgb[2]) / chroma;
    } else if (value == rgb[1]) {
      hue = 120 + 60 * (rgb[2] - rgb[0]) / chroma;
    } else {
      hue = 240 + 60 * (rgb[0] - rgb[1]) / chroma;
    }
  }
  hue = std::fmod(hue + 360.0 * change.hue + 720, 360);
  const double saturation = std::min(1.0, (value > 0 ? chroma / value : 0) * change.saturation);
  const double v = std::min(255.0, value * change.exposure);
  const int sextant = static_cast<int>(hue / 60) % 6;
  const double f = hue / 60 - sextant;
  const double p = v * (1 - saturation), q = v * (1 - saturation * f), t = v * (1 - saturation * (1 - f));
  switch (sextant) {
    case 0: return {v, t, p};
    case 1: return {q, v, p};
    case 2: return {p, v, t};
    case 3: return {p, q, v};
    case 4: return {t, p, v};
    default: return {v, p, q};
  }
}

TEST(ChangeColor, EqualsTheTextbookInDouble) {
  Random random(2, Purpose::test);
  std::vector<float> red, green, blue;
  for (int i = 0; i < 4001; ++i) {
    red.push_back(static_cast<float>(random.below(256)));
    green.push_back(i % 7 == 0 ? red.back() : static_cast<float>(random.below(256)));
    blue.push_back(i % 11 == 0 ? green.back() : static_cast<float>(random.below(256)));
  }
  red.insert(red.end(), {0, 255, 255, 0, 0});
  green.insert(green.end(), {0, 255, 0, 255, 0});
  blue.insert(blue.end(), {0, 255, 0, 0, 255});
  const ColorChange changes[] = {{0, 1, 1},          {0.1f, 1, 1},    {-0.1f, 1.5f, 1 / 1.5f},
                                 {0.5f, 0.5f, 1.5f}, {-0.5f, 10, 10}, {0.03f, 1 / 10.0f, 0.1f}};
  for (const ColorChange& change : changes) {
    auto r = red, g = green, b = blue;
    change_color(r.data(), g.data(), b.data(), static_cast<int>(r.size()), change);
    for (size_t i = 0; i < r.size(); ++i) {
      const auto expected = reference({red[i], green[i], blue[i]}, change);
      ASSERT_NEAR(r[i], expected[0], 2e-3) << red[i] << ' ' << green[i] << ' ' << blue[i];
      ASSERT_NEAR(g[i], expected[1], 2e-3) << red[i] << ' ' << green[i] << ' ' << blue[i];
      ASSERT_NEAR(b[i], expected[2], 2e-3) << red[i] << ' ' << green[i] << ' ' << blue[i];
    }
  }
}

TEST(ChangeExposure, OfGreyIsAFactorThatEndsAtWhite) {
  std::vector<float> grey{0, 10, 127.5f, 128, 255};
  change_exposure(grey.data(), static_cast<int>(grey.size()), {0.2f, 3, 2});
  EXPECT_EQ(grey, (std::vector<float>{0, 20, 255, 255, 255}));
}

}  // namespace
}  // namespace brightnet
