// Conversion of image bytes, for both devices.
#pragma once

#include <cstdint>

#include "kernels/math/hd.h"

namespace brightnet {

/// pixel / 255, correctly rounded for all 256 values. A division would take longer than the memory traffic,
/// and a product with 1/255 is off in the last bit for some values. So 1/255 is split in two: a byte times
/// the upper 16 bits is exact, and the rest of the product is too small for its rounding to matter.
BRIGHTNET_HD float normalized_pixel(uint8_t pixel) {
  constexpr float upper = 257.0f / 65536.0f;
  constexpr float lower = static_cast<float>(1.0 / 255.0 - 257.0 / 65536.0);
  const float value = pixel;
  return value * upper + value * lower;
}

}  // namespace brightnet
