// Hue, saturation and exposure (brightness) in HSV, as darknet distorts them.
#pragma once

#include "core/random.h"
#include "data/augment/options.h"

namespace brightnet {

struct ColorChange {
  float hue = 0;         ///< added, in turns of the colour circle, [-0.5, 0.5]
  float saturation = 1;  ///< factor; the product is cut at 1
  float exposure = 1;    ///< factor on the value; the product is cut at the white
  bool changes() const { return hue != 0 || saturation != 1 || exposure != 1; }
};

/// The hue uniform in ±hue; saturation and exposure uniform in [1, limit], and inverted half of the time.
ColorChange draw_color(Random& random, const AugmentOptions& options);

/// Changes `count` pixels in place, a row of each channel, values in [0, 255].
void change_color(float* red, float* green, float* blue, int count, const ColorChange& change);

}  // namespace brightnet
