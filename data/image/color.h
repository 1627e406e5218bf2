// Changes of colour of whole rows (kernels/math/color.h).
#pragma once

#include <cstdint>

#include "kernels/math/color.h"

namespace brightnet {

/// Changes `count` pixels in place, given as planar channels with values in [0, 255].
void change_color(float* red, float* green, float* blue, int count, const ColorChange& change);

/// Changes `count` grey pixels in place, which have neither hue nor saturation.
void change_exposure(float* grey, int count, const ColorChange& change);

/// Rounds planar pixels, as change_color() leaves them, to 8-bit RGB.
void store_pixels(const float* red, const float* green, const float* blue, int count, uint8_t* out);
/// Rounds grey pixels to 8 bits.
void store_pixels(const float* grey, int count, uint8_t* out);

}  // namespace brightnet
