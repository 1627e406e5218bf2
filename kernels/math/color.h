// Changes of colour, for both devices.
#pragma once

#include <cstdint>

#include "kernels/math/hd.h"

namespace brightnet {

/// The padding value: the mean of natural photographs (ImageNet's, over the three channels).
constexpr uint8_t fill_value = 114;

/// Changes of hue, saturation and exposure (brightness) in HSV, as in darknet.
struct ColorChange {
  float hue = 0;         ///< shift in turns of the colour circle, [-0.5, 0.5]
  float saturation = 1;  ///< factor; the product is clamped to 1
  float exposure = 1;    ///< factor on the value; the product is clamped to white
  BRIGHTNET_HD bool changes() const { return hue != 0 || saturation != 1 || exposure != 1; }
};

namespace color_math {

BRIGHTNET_HD float smaller(float a, float b) {
  return a < b ? a : b;
}
BRIGHTNET_HD float larger(float a, float b) {
  return a > b ? a : b;
}
BRIGHTNET_HD float magnitude(float a) {
  return a < 0 ? -a : a;
}
BRIGHTNET_HD float unit(float a) {
  return smaller(larger(a, 0.0f), 1.0f);
}

}  // namespace color_math

/// Changes a pixel with values in [0, 255]: RGB → HSV → RGB without branches, so that loops over it vectorize. With value
/// V = max, chroma C = max − min and the hue h in sextants, RGB = V − C·(1 − f) where f is a trapezoid of h for each
/// channel: |h − 3| − 1 for red, 2 − |h − 2| for green, 2 − |h − 4| for blue, each clamped to [0, 1].
BRIGHTNET_HD void change_pixel_color(float& red, float& green, float& blue, const ColorChange& change) {
  using namespace color_math;
  constexpr float tiny = 1e-6f;  // avoids division by zero; grey and black have no hue
  const float r = red, g = green, b = blue;
  const float value = larger(r, larger(g, b));
  const float chroma = value - smaller(r, smaller(g, b));
  const float scale = 1 / larger(chroma, tiny);
  const float from_red = (g - b) * scale, from_green = 2 + (b - r) * scale, from_blue = 4 + (r - g) * scale;
  const float other = value == g ? from_green : from_blue;
  float hue = (value == r ? from_red : other) + 6 * change.hue;
  hue = hue < 0 ? hue + 6 : hue;
  hue = hue >= 6 ? hue - 6 : hue;
  const float new_value = smaller(value * change.exposure, 255.0f);
  const float new_chroma = new_value * smaller(change.saturation * chroma / larger(value, tiny), 1.0f);
  red = new_value - new_chroma * (1 - unit(magnitude(hue - 3) - 1));
  green = new_value - new_chroma * (1 - unit(2 - magnitude(hue - 2)));
  blue = new_value - new_chroma * (1 - unit(2 - magnitude(hue - 4)));
}

/// Changes a grey pixel, which has neither hue nor saturation, as change_pixel_color() does.
BRIGHTNET_HD float exposed_grey(float grey, const ColorChange& change) {
  return color_math::smaller(grey * change.exposure, 255.0f);
}

/// A value of [0, 255], rounded.
BRIGHTNET_HD uint8_t rounded_value(float value) {
  return static_cast<uint8_t>(static_cast<int>(value + 0.5f));
}

/// ITU-R BT.601, in weights of 1/256 that sum to 1.
BRIGHTNET_HD uint8_t luminance(uint8_t red, uint8_t green, uint8_t blue) {
  return static_cast<uint8_t>((77 * red + 150 * green + 29 * blue + 128) >> 8);
}

}  // namespace brightnet
