// Mixup for detection: two samples, half of each, with the objects of both (as darknet blends them).
#pragma once

#include <cstddef>
#include <cstdint>

namespace brightnet {

/// pixels = (pixels + other) / 2, rounded up.
void blend_half(uint8_t* pixels, const uint8_t* other, size_t count);

}  // namespace brightnet
