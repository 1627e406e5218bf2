// Affine 8-bit quantisation (Jacob et al. 2018, equation 1): value = scale · (q − zero point). Activations are u8 with a
// zero point; weights are symmetric, with a scale for each output channel, and −127 … 127.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/math/hd.h"

namespace brightnet {

constexpr int largest_quantized = 255;  ///< largest quantised activation
constexpr int largest_weight = 127;     ///< largest magnitude of a quantised weight

/// The scale and the zero point of a tensor's values. Zero itself is always exact: padding is.
struct QuantizedRange {
  float scale = 1;
  int zero_point = 0;  ///< within 0 … 255

  float least() const { return scale * -zero_point; }
  float most() const { return scale * (largest_quantized - zero_point); }
  /// Whether rounding a value to the range does not saturate; false for NaN.
  BRIGHTNET_HD bool contains(float value) const {
    const float q = std::nearbyint(value / scale) + zero_point;
    return q >= 0 && q <= static_cast<float>(largest_quantized);
  }
  bool operator==(const QuantizedRange&) const = default;
};

/// The range of the image, whose pixels stay what they are.
constexpr QuantizedRange image_range{1.0f / 255, 0};

/// The nearest of the range's values, of two the even one, as the processors' conversions round; saturates. NaN becomes 0.
BRIGHTNET_HD uint8_t quantized(float value, const QuantizedRange& range) {
  const float q = std::nearbyint(value / range.scale) + range.zero_point;
  return static_cast<uint8_t>(std::min(std::max(0.0f, q), static_cast<float>(largest_quantized)));
}
BRIGHTNET_HD float dequantized(uint8_t q, const QuantizedRange& range) {
  return range.scale * static_cast<float>(q - range.zero_point);
}

BRIGHTNET_HD int8_t quantized_weight(float weight, float scale) {
  const float q = std::nearbyint(weight / scale), limit = largest_weight;
  return static_cast<int8_t>(std::min(std::max(-limit, q), limit));
}
BRIGHTNET_HD float dequantized_weight(int8_t q, float scale) {
  return scale * q;
}

}  // namespace brightnet
