// The position of an image inside a network input.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/enum_names.h"
#include "core/input_size.h"
#include "kernels/math/color.h"

namespace brightnet {

/// input = image · scale + offset, in pixels, on each axis. A negative scale_x mirrors the image.
struct Placement {
  float scale_x = 1, scale_y = 1, offset_x = 0, offset_y = 0;
};

/// The placement used outside training: stretched to the input, or letterboxed: scaled to fit, keeping the
/// aspect ratio, and centred. A letterboxed image covers whole pixels (its sides are rounded, at
/// least 1, and the factors with them), so the mapping back is exact.
Placement place(int image_width, int image_height, const InputSize& size, bool letterbox);

/// How an image is resized to the input.
enum class Resize : uint8_t {
  antialiased,  ///< data/image/resize_filter.h: as in training
  darknet,      ///< data/image/darknet_image.h: as in training with darknet
};

constexpr std::string_view enum_name(Resize resize) {
  switch (resize) {
    case Resize::antialiased: return "antialiased";
    case Resize::darknet: return "darknet";
  }
  return {};
}

/// Whether images are read and resized by darknet's rules, in values of [0, 1].
constexpr bool as_darknet(Resize resize) {
  switch (resize) {
    case Resize::antialiased: return false;
    case Resize::darknet: return true;
  }
  return false;
}

/// How images are fitted into a network input outside training.
struct InputFit {
  InputSize size = 416;
  bool letterbox = false;
  Resize resize = Resize::antialiased;
  int channels = 3;  ///< 3: RGB; 1: grey
};

/// The placement outside training by the rules of `fit.resize`: brightnet's own or darknet's.
Placement place(int image_width, int image_height, const InputFit& fit);

}  // namespace brightnet
