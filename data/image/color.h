// Changes of hue, saturation and exposure (brightness) in HSV, as darknet makes them.
#pragma once

namespace brightnet {

struct ColorChange {
  float hue = 0;         ///< added, in turns of the colour circle, [-0.5, 0.5]
  float saturation = 1;  ///< factor; the product is cut at 1
  float exposure = 1;    ///< factor on the value; the product is cut at the white
  bool changes() const { return hue != 0 || saturation != 1 || exposure != 1; }
};

/// Changes `count` pixels in place, a row of each channel, values in [0, 255].
void change_color(float* red, float* green, float* blue, int count, const ColorChange& change);

}  // namespace brightnet
