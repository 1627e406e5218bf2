#include <algorithm>
#include <bit>

#include "tests/kernels/reference.h"

namespace brightnet::testing {
namespace {

/// The bf16 nearest to x (of two equally near ones the even one), found by measuring distances.
double nearest_bf16(double x) {
  const float below = std::bit_cast<float>(std::bit_cast<uint32_t>(static_cast<float>(x)) & 0xFFFF0000u);
  const float above = std::bit_cast<float>(std::bit_cast<uint32_t>(below) + 0x10000u);
  const double to_below = std::abs(x - below), to_above = std::abs(x - above);
  if (to_below != to_above) return to_below < to_above ? below : above;
  return (std::bit_cast<uint32_t>(below) >> 16) % 2 == 0 ? below : above;
}

TEST(Cast, RoundsToTheNearestBf16) {
  for (const Shape& shape : odd_shapes()) {
    OwnedTensor from(shape), to(shape, DType::bf16, true);
    from.randomize(1);
    device().cast(*from, *to);
    for (size_t i = 0; i < from.count(); ++i) ASSERT_EQ(to[i], nearest_bf16(from[i])) << from[i];
  }
}

TEST(Cast, RoundsTiesToEven) {
  // 1 + 1/256 lies half way between 1 (even) and 1 + 1/128; 1 + 3/256 between 1 + 1/128 and 1 + 2/128 (even).
  OwnedTensor from({1, 1, 2, 17}), to({1, 1, 2, 17}, DType::bf16);
  for (size_t i = 0; i < from.count(); ++i) from.set(i, i % 2 == 0 ? 1 + 1.0 / 256 : -(1 + 3.0 / 256));
  device().cast(*from, *to);
  for (size_t i = 0; i < to.count(); ++i) EXPECT_EQ(to[i], i % 2 == 0 ? 1.0 : -(1 + 2.0 / 128));
}

TEST(Cast, KeepsNanInfinityAndZero) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  // The last NaN has a payload in the low half only: truncating it would make it infinite.
  const float special[] = {std::numeric_limits<float>::quiet_NaN(),
                           -std::numeric_limits<float>::quiet_NaN(),
                           std::bit_cast<float>(0x7F800001u),
                           std::bit_cast<float>(0xFFFFFFFFu),
                           infinity,
                           -infinity,
                           0.0f,
                           -0.0f,
                           std::numeric_limits<float>::max(),
                           std::numeric_limits<float>::denorm_min()};
  constexpr int count = std::size(special);
  // Many pixels, so that both the vector loop and its remainder see each value.
  OwnedTensor from({1, 1, 7, count}), to({1, 1, 7, count}, DType::bf16);
  for (size_t i = 0; i < from.count(); ++i) from.put(i, special[i % count]);
  device().cast(*from, *to);
  for (size_t i = 0; i < to.count(); i += count) {
    for (size_t j = 0; j < 4; ++j) EXPECT_TRUE(std::isnan(to[i + j])) << j;
    EXPECT_EQ(to[i + 4], infinity);
    EXPECT_EQ(to[i + 5], -infinity);
    EXPECT_EQ(to[i + 6], 0.0);
    EXPECT_TRUE(std::signbit(to[i + 7]));
    EXPECT_EQ(to[i + 8],
              infinity);  // above the middle between bf16's largest number and the next power of two
    EXPECT_EQ(to[i + 9], 0.0);
  }
}

TEST(Cast, ThereAndBackIsExact) {
  OwnedTensor from({1, 13, 13, 255}, DType::bf16), wide({1, 13, 13, 255}),
      back({1, 13, 13, 255}, DType::bf16);
  from.randomize(2);
  device().cast(*from, *wide);
  device().cast(*wide, *back);
  EXPECT_EQ(wide.values(), from.values());
  EXPECT_EQ(back.values(), from.values());
}

TEST(Cast, BetweenEqualTypesCopies) {
  OwnedTensor from({2, 7, 5, 3}), to({2, 7, 5, 3});
  from.randomize(3);
  device().cast(*from, *to);
  EXPECT_EQ(to.values(), from.values());
}

bool computes_in_half() {
  const auto types = compute_types();
  return std::find(types.begin(), types.end(), DType::f16) != types.end();
}

TEST(Cast, RoundsToTheNearestHalf) {
  if (!computes_in_half()) GTEST_SKIP() << device().name() << " does not compute in half precision";
  for (const Shape& shape : odd_shapes()) {
    OwnedTensor from(shape), to(shape, DType::f16, true), bf16(shape, DType::bf16), again(shape, DType::f16);
    from.randomize(4);
    // Every magnitude: what underflows, the subnormal, the normal, and what overflows.
    for (size_t i = 0; i < from.count(); ++i) from.set(i, std::ldexp(from[i], static_cast<int>(i % 48) - 30));
    device().cast(*from, *to);
    for (size_t i = 0; i < from.count(); ++i)
      ASSERT_EQ(to[i], half_value(half_bits(static_cast<float>(from[i])))) << from[i];
    device().cast(*to, *from);
    EXPECT_EQ(from.values(), to.values());
    bf16.randomize(5);
    device().cast(*bf16, *again);
    for (size_t i = 0; i < bf16.count(); ++i)
      ASSERT_EQ(again[i], half_value(half_bits(static_cast<float>(bf16[i])))) << bf16[i];
  }
}

TEST(Cast, RefusesHalfPrecisionWhereItIsNotComputedIn) {
  if (computes_in_half()) GTEST_SKIP() << device().name() << " computes in half precision";
  const OwnedTensor from({1, 2, 2, 8});
  const Tensor half{(*from).data, (*from).shape, DType::f16};
  EXPECT_THROW(device().cast(*from, half), std::logic_error);
}

// More tensors than one launch takes, of sizes around those of vectors and tiles, one of them misaligned.
TEST(Cast, ManyTensorsAtOnceAreCastOneByOne) {
  for (const DType type : compute_types()) {
    if (type == DType::f32) continue;
    std::vector<OwnedTensor> from, to;
    for (int i = 0; i < 150; ++i) {
      const int count = i == 7 ? 4096 : i == 8 ? 9001 : 1 + i % 13;
      from.emplace_back(Shape{1, 1, 1, count}, DType::f32, i == 20);
      to.emplace_back(Shape{1, 1, 1, count}, type);
      from.back().randomize(static_cast<uint64_t>(i));
    }
    std::vector<CastPair> pairs;
    for (size_t i = 0; i < from.size(); ++i) pairs.push_back({*from[i], *to[i]});
    device().cast_all(pairs);
    for (size_t i = 0; i < from.size(); ++i) {
      for (size_t k = 0; k < from[i].count(); ++k)
        ASSERT_EQ(to[i][k], static_cast<double>(rounded(static_cast<float>(from[i][k]), type)))
            << i << ' ' << k;
    }
  }
}

// As many, one of them misaligned and one of another type; what lies between them stays as it is.
TEST(Cast, ManyRoundedGradientsAreTakenOverOrAdded) {
  for (const DType type : compute_types()) {
    if (type == DType::f32) continue;
    constexpr int pairs_count = 150, room = 16, total = 16000;
    OwnedTensor from({1, 1, 1, total}, type), to({1, 1, 1, total}), other({1, 1, 1, 5});
    from.randomize(1);
    other.randomize(2);
    to.fill(7);
    std::vector<double> once(total, 0.0);  // what one call adds
    std::vector<bool> covered(total, false);
    for (const bool accumulate : {false, true}) {
      const Tensor all_from = *from, all_to = *to;
      std::vector<CastPair> pairs;
      for (int i = 0, at = 0; i < pairs_count; ++i) {
        const int count = i == 7 ? 4096 : i == 8 ? 9001 : i == 30 ? 5 : 1 + i % 13, begin = at + (i == 20);
        const Shape shape{1, 1, 1, count};
        Tensor part{static_cast<std::byte*>(all_from.data) + begin * size_of(type), shape, type};
        if (i == 30) part = *other;
        pairs.push_back({part, {all_to.as<float>() + begin, shape, DType::f32}});
        for (int k = 0; k < count; ++k) {
          covered[begin + k] = true;
          once[begin + k] = i == 30 ? other[k] : from[begin + k];
        }
        at += (count + room) / room * room;
        ASSERT_LE(at, total);
      }
      device().add_rounded(pairs, accumulate);
      for (int i = 0; i < total; ++i) {
        const double expected = covered[i] ? (accumulate ? 2 : 1) * once[i] : 7.0;
        ASSERT_EQ(to[i], expected) << i << ' ' << enum_name(type);
      }
    }
  }
}

}  // namespace
}  // namespace brightnet::testing
