// Changes of hue, saturation and exposure (brightness) in HSV, as in darknet.
#pragma once

#include <cstdint>

namespace brightnet {

struct ColorChange {
  float hue = 0;         ///< shift in turns of the colour circle, [-0.5, 0.5]
  float saturation = 1;  ///< factor; the product is clamped to 1
  float exposure = 1;    ///< factor on the value; the product is clamped to white
  bool changes() const { return hue != 0 || saturation != 1 || exposure != 1; }
};

/// Changes `count` pixels in place, given as planar channels with values in [0, 255].
void change_color(float* red, float* green, float* blue, int count, const ColorChange& change);

/// The same for grey pixels, which have neither hue nor saturation.
void change_exposure(float* grey, int count, const ColorChange& change);

/// Rounds planar pixels, as change_color() leaves them, to 8-bit RGB.
void store_pixels(const float* red, const float* green, const float* blue, int count, uint8_t* out);
/// Rounds grey pixels to 8 bits.
void store_pixels(const float* grey, int count, uint8_t* out);

}  // namespace brightnet
