// Mixup for detection: the mean of two samples, with the objects of both (as in darknet).
#pragma once

#include <cstddef>
#include <cstdint>

namespace brightnet {

/// pixels = (pixels + other) / 2, rounded up.
void blend_half(uint8_t* pixels, const uint8_t* other, size_t count);

}  // namespace brightnet
