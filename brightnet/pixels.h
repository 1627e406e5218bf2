// A caller's image as the library's rooms have it (private to brightnet/).
#pragma once

#include <algorithm>

#include "brightnet/detector.h"
#include "detect/sources/memory_source.h"

namespace brightnet {

inline PixelImage pixels_of(const Image& image) {
  const auto row = std::max(0, image.width) * static_cast<size_t>(image.channels);
  return {image.pixels,   image.height, image.width, image.stride > 0 ? image.stride : row,
          image.channels, image.bgr};
}

}  // namespace brightnet
