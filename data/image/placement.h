// Where an image lies inside a square network input.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/enum_names.h"

namespace brightnet {

/// input = image · scale + offset, in pixels, on each axis. A negative scale_x mirrors the image.
struct Placement {
  float scale_x = 1, scale_y = 1, offset_x = 0, offset_y = 0;
};

/// What shows where there is no image: the mean of natural photographs (ImageNet's, over the three channels),
/// so that borders stand out as little as a flat colour can.
constexpr uint8_t fill_value = 114;

/// The placement used outside training: stretched to size × size, or letterboxed: scaled by the one factor
/// with which it just fits, and centred. A letterboxed image covers whole pixels (its sides are rounded, at
/// least 1, and the factors with them), so the mapping back is exact.
Placement place(int image_width, int image_height, int size, bool letterbox);

/// Whose pixels the network is shown.
enum class Resize : uint8_t {
  antialiased,  ///< data/image/resize_filter.h: what training sees
  darknet,      ///< data/image/darknet_image.h: what darknet's weights have seen
};

constexpr std::string_view enum_name(Resize resize) {
  switch (resize) {
    case Resize::antialiased: return "antialiased";
    case Resize::darknet: return "darknet";
  }
  return {};
}

/// How images are fitted into a square network input outside training.
struct InputFit {
  int size = 416;  ///< of its side, in pixels
  bool letterbox = false;
  Resize resize = Resize::antialiased;
};

/// By the rules of `fit.resize`.
Placement place(int image_width, int image_height, const InputFit& fit);

}  // namespace brightnet
