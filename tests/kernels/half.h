// IEEE half precision on the host, written plainly: what tests compare the GPU's conversions with.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace brightnet::testing {

/// Of a normal number; ldexp() and frexp() took a tenth of the emulation's time.
inline float power_of_two(int exponent) {
  return std::bit_cast<float>((exponent + 127) << 23);
}

inline float half_value(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const float size = exponent == 31  ? (fraction ? NAN : INFINITY)
                     : exponent == 0 ? static_cast<float>(fraction) * power_of_two(-24)
                                     : static_cast<float>(1024 + fraction) * power_of_two(exponent - 25);
  return bits >> 15 ? -size : size;
}

/// The bits of the half nearest to the value; of two equally near ones the even one.
inline uint16_t half_bits(float value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const float size = std::abs(value);
  if (std::isnan(value)) return 0x7FFF;
  if (size >= 65520.0f) return static_cast<uint16_t>(sign | 0x7C00);
  // A unit in the last place is 2⁻²⁴ up to the smallest normal number 2⁻¹⁴, then grows with the exponent.
  const int exponent =
      static_cast<int>(std::bit_cast<uint32_t>(size) >> 23) - 127;  // size is in [1, 2) times 2 to this
  const int shift = std::max(exponent - 10, -24);
  const int units = static_cast<int>(std::nearbyint(size * power_of_two(-shift)));
  // From 1024 units on the number is normal; 2048 of them carry into the next exponent by themselves.
  return static_cast<uint16_t>(sign | (units < 1024 ? units : (shift + 24) * 1024 + units));
}

}  // namespace brightnet::testing
