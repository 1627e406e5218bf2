#include "core/dtype.h"

#include "core/enum_names.h"
#include "core/error.h"

namespace brightnet {

Precision parse_precision(std::string_view name) {
  if (const auto precision = enum_value<Precision>(name)) return *precision;
  throw InputError("unknown precision '" + std::string(name) + "'", "",
                   "Use fp32, tf32, bf16 or fp16, or int8 for inference.");
}

uint16_t Float16::round(float value) {
  const uint32_t u = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (u >> 16) & 0x8000u, magnitude = u & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return static_cast<uint16_t>(sign | 0x7E00u);   // NaN
  if (magnitude >= 0x477FF000u) return static_cast<uint16_t>(sign | 0x7C00u);  // rounds to more than 65504
  if (magnitude < 0x38800000u) {
    // Subnormals are multiples of 2^-24, the last place of 0.5: adding 0.5 rounds to one of them.
    const float aligned = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(aligned) - 0x3F000000u));
  }
  const uint32_t rounded = magnitude + 0xFFFu + ((magnitude >> 13) & 1u);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

Float16::operator float() const {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t exponent = (bits >> 10) & 0x1Fu, mantissa = bits & 0x3FFu;
  if (exponent == 0) {  // zero or subnormal: mantissa · 2^-24
    return std::bit_cast<float>(std::bit_cast<uint32_t>(mantissa * 0x1p-24f) | sign);
  }
  return std::bit_cast<float>(sign | (exponent == 31 ? 0xFFu : exponent + 112) << 23 | mantissa << 13);
}

}  // namespace brightnet
