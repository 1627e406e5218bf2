// Element types, and the 16-bit floating-point type that standard C++20 lacks.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace brightnet {

enum class DType : uint8_t { f32, bf16, f16, u8 };

constexpr size_t size_of(DType type) {
  switch (type) {
    case DType::f32: return 4;
    case DType::bf16:
    case DType::f16: return 2;
    case DType::u8: return 1;
  }
  return 0;
}
constexpr std::string_view enum_name(DType type) {
  switch (type) {
    case DType::f32: return "f32";
    case DType::bf16: return "bf16";
    case DType::f16: return "f16";
    case DType::u8: return "u8";
  }
  return {};
}

/// The number format that a run computes in. Master weights, batch-norm statistics, losses and sums of weight
/// gradients are always fp32. int8 is for inference with quantised weights (layers/model/quantization.h).
enum class Precision : uint8_t { fp32, tf32, bf16, fp16, int8 };

/// Type of activations and working weights; with int8, of those that stay floating-point numbers.
constexpr DType compute_type(Precision precision) {
  switch (precision) {
    case Precision::fp32:
    case Precision::tf32:
    case Precision::int8: return DType::f32;
    case Precision::bf16: return DType::bf16;
    case Precision::fp16: return DType::f16;
  }
  return {};
}
constexpr std::string_view enum_name(Precision precision) {
  switch (precision) {
    case Precision::fp32: return "fp32";
    case Precision::tf32: return "tf32";
    case Precision::bf16: return "bf16";
    case Precision::fp16: return "fp16";
    case Precision::int8: return "int8";
  }
  return {};
}
/// The precision of this name. Throws InputError for an unknown name.
Precision parse_precision(std::string_view name);

/// bfloat16 on the host: the upper half of a float, rounded to nearest even. Loops over it vectorise.
struct BFloat16 {
  uint16_t bits = 0;

  BFloat16() = default;
  explicit BFloat16(float value) : bits(round(value)) {}
  explicit operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

  /// The bits of the bf16 nearest to value.
  static uint16_t round(float value) {
    const uint32_t u = std::bit_cast<uint32_t>(value);
    const uint32_t rounded = (u + 0x7FFFu + ((u >> 16) & 1u)) >> 16;
    const uint32_t quiet_nan = (u >> 16) | 0x40u;
    return static_cast<uint16_t>((u & 0x7FFFFFFFu) > 0x7F800000u ? quiet_nan : rounded);
  }
};
static_assert(sizeof(BFloat16) == 2);

/// IEEE 754's binary16 on the host, rounded to nearest even.
struct Float16 {
  uint16_t bits = 0;

  Float16() = default;
  explicit Float16(float value) : bits(round(value)) {}
  explicit operator float() const;

  static uint16_t round(float value);
};
static_assert(sizeof(Float16) == 2);

}  // namespace brightnet
