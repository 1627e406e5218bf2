#include "data/augment/mixup.h"

namespace brightnet {

void blend_half(uint8_t* __restrict pixels, const uint8_t* __restrict other, size_t count) {
  for (size_t i = 0; i < count; ++i) pixels[i] = static_cast<uint8_t>((pixels[i] + other[i] + 1) / 2);
}

}  // namespace brightnet
