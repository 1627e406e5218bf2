#include "core/dtype.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/tensor.h"

namespace brightnet {
namespace {

float from_bits(uint32_t bits) {
  return std::bit_cast<float>(bits);
}

/// The nearest bfloat16 by comparing distances in double; ties go to the even neighbour. Finite values only.
uint16_t nearest_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto low = static_cast<uint16_t>(bits >> 16);
  const auto high = static_cast<uint16_t>(low + 1);
  const double below = std::abs(static_cast<double>(from_bits(uint32_t{low} << 16)));
  double above = std::abs(static_cast<double>(from_bits(uint32_t{high} << 16)));
  if (std::isinf(above)) above = std::ldexp(1.0, 128);  // where the next number would be
  const double to_low = std::abs(static_cast<double>(value)) - below;
  const double to_high = above - std::abs(static_cast<double>(value));
  if (to_low != to_high) return to_low < to_high ? low : high;
  return low % 2 == 0 ? low : high;
}

TEST(BFloat16, RoundsEveryFiniteValueToTheNearestAndTiesToEven) {
  for (uint32_t upper = 0; upper < 0x10000; ++upper) {
    if ((upper & 0x7F80) == 0x7F80) continue;  // infinity and NaN
    for (const uint32_t lower : {0u, 1u, 0x7FFFu, 0x8000u, 0x8001u, 0xFFFFu}) {
      const float value = from_bits(upper << 16 | lower);
      ASSERT_EQ(BFloat16(value).bits, nearest_bf16(value)) << value;
    }
  }
}

TEST(BFloat16, HoldsItsOwnValuesExactly) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    BFloat16 original;
    original.bits = static_cast<uint16_t>(bits);
    const auto value = static_cast<float>(original);
    if (std::isnan(value)) continue;
    ASSERT_EQ(BFloat16(value).bits, bits);
  }
}

TEST(BFloat16, KeepsInfinityAndEveryNaN) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(static_cast<float>(BFloat16(infinity)), infinity);
  EXPECT_EQ(static_cast<float>(BFloat16(-infinity)), -infinity);
  // A NaN whose payload lies in the lower half alone must not become infinity, nor wrap around to zero.
  for (const uint32_t bits : {0x7F800001u, 0xFF800001u, 0x7FC00000u, 0x7FFFFFFFu, 0xFFFFFFFFu}) {
    const float converted = static_cast<float>(BFloat16(from_bits(bits)));
    EXPECT_TRUE(std::isnan(converted)) << std::hex << bits;
    EXPECT_EQ(std::signbit(converted), bits >> 31 == 1) << std::hex << bits;
  }
}

TEST(Float16, ReadsBackAsItselfAndRoundsHalfwayToEven) {
  for (uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const auto half = std::bit_cast<Float16>(static_cast<uint16_t>(bits));
    const float value = static_cast<float>(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(Float16(value)))) << bits;
      continue;
    }
    ASSERT_EQ(Float16(value).bits, bits);
    const uint32_t magnitude = bits & 0x7FFFu;
    if (magnitude >= 0x7BFFu) continue;
    // Between this half and the next one away from zero.
    const float next = static_cast<float>(std::bit_cast<Float16>(static_cast<uint16_t>(bits + 1)));
    const float middle = value + (next - value) / 2;
    ASSERT_EQ(Float16(middle).bits, bits + (bits & 1)) << bits;
    ASSERT_EQ(Float16(std::nextafter(middle, value)).bits, bits);
    ASSERT_EQ(Float16(std::nextafter(middle, next)).bits, bits + 1);
  }
  EXPECT_EQ(static_cast<float>(Float16(65504.0f)), 65504.0f);
  EXPECT_EQ(static_cast<float>(Float16(65519.99f)), 65504.0f);
  EXPECT_TRUE(std::isinf(static_cast<float>(Float16(65520.0f))));
  EXPECT_EQ(static_cast<float>(Float16(1.0f / 3)), 0.333251953125f);
}

TEST(DType, SizesAndComputeTypes) {
  EXPECT_EQ(size_of(DType::f32), 4u);
  EXPECT_EQ(size_of(DType::bf16), 2u);
  EXPECT_EQ(size_of(DType::f16), 2u);
  EXPECT_EQ(size_of(DType::u8), 1u);
  EXPECT_EQ(compute_type(Precision::fp32), DType::f32);
  EXPECT_EQ(compute_type(Precision::tf32), DType::f32);
  EXPECT_EQ(compute_type(Precision::bf16), DType::bf16);
  EXPECT_EQ(compute_type(Precision::fp16), DType::f16);
  EXPECT_EQ(compute_type(Precision::int8), DType::f32) << "of what stays in floating point";
}

TEST(DType, PrecisionNamesReadBackAndOthersAreRefused) {
  for (const auto precision :
       {Precision::fp32, Precision::tf32, Precision::bf16, Precision::fp16, Precision::int8}) {
    EXPECT_EQ(parse_precision(enum_name(precision)), precision);
  }
  EXPECT_THROW(parse_precision("fp64"), InputError);
  EXPECT_THROW(parse_precision(""), InputError);
}

TEST(Tensor, CountsElementsAndBytesAndRefusesAnotherType) {
  float storage[2 * 3 * 4 * 5];
  const Tensor tensor{storage, {2, 3, 4, 5}, DType::f32};
  EXPECT_EQ(tensor.count(), 120u);
  EXPECT_EQ(tensor.bytes(), 480u);
  EXPECT_EQ(tensor.shape.pixels(), 24u);
  EXPECT_EQ(to_string(tensor.shape), "2x3x4x5");
  EXPECT_EQ(tensor.as<float>(), storage);
  EXPECT_THROW(tensor.as<BFloat16>(), std::logic_error);
  EXPECT_FALSE(Tensor{});
  // A count beyond 32 bits, as a large batch of a wide layer reaches.
  EXPECT_EQ((Shape{64, 608, 608, 512}.count()), size_t{64} * 608 * 608 * 512);
}

TEST(Tensor, ASliceOfItsChannelsHasTheWholesPixels) {
  float storage[2 * 3 * 6];
  const Tensor whole{storage, {1, 2, 3, 6}, DType::f32};
  const Tensor slice = slice_channels(whole, 2, 3);
  EXPECT_EQ(slice.data, storage + 2);
  EXPECT_EQ(slice.shape, (Shape{1, 2, 3, 3}));
  EXPECT_EQ(slice.pixel_stride(), 6u);
  EXPECT_EQ(slice_channels(slice, 1, 2).data, storage + 3);
  EXPECT_EQ(slice_channels(slice, 1, 2).pixel_stride(), 6u);
  EXPECT_EQ(slice_channels(whole, 3, 3).shape.c, 3);
  EXPECT_THROW(slice_channels(whole, 4, 3), std::logic_error);
  EXPECT_THROW(slice_channels(whole, -1, 3), std::logic_error);
  EXPECT_THROW(slice_channels(whole, 0, 0), std::logic_error);
  EXPECT_EQ(slice_channels({nullptr, {1, 2, 3, 6}, DType::f32}, 2, 3).data, nullptr) << "while it is planned";
}

}  // namespace
}  // namespace brightnet
