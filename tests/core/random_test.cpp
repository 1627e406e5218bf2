#include "core/random.h"

#include <cmath>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace brightnet {
namespace {

using Block = std::array<uint32_t, 4>;

// The known answers published with the algorithm's reference implementation (Random123, kat_vectors).
TEST(Random, PhiloxGivesThePublishedKnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

std::vector<uint32_t> first(Random random, int count = 8) {
  std::vector<uint32_t> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(random());
  return numbers;
}

TEST(Random, AStreamIsDeterminedByItsNameAlone) {
  EXPECT_EQ(first(Random(7, Purpose::augment, 3, 5)), first(Random(7, Purpose::augment, 3, 5)));
  std::set<std::vector<uint32_t>> streams;
  int named = 0;
  for (const uint64_t seed : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 32}) {
    for (const Purpose purpose : {Purpose::weights, Purpose::order, Purpose::synth}) {
      for (const uint64_t epoch : {0, 1, 300}) {
        for (const uint64_t sample : {uint64_t{0}, uint64_t{1}, uint64_t{65536}, uint64_t{1} << 32}) {
          streams.insert(first(Random(seed, purpose, epoch, sample)));
          ++named;
        }
      }
    }
  }
  EXPECT_EQ(streams.size(), static_cast<size_t>(named));
}

TEST(Random, UniformFillsItsRangeEvenly) {
  Random random(1, Purpose::test);
  constexpr int count = 100000;
  std::vector<int> bins(10, 0);
  double sum = 0;
  for (int i = 0; i < count; ++i) {
    const float u = random.uniform(-2, 3);
    ASSERT_GE(u, -2);
    ASSERT_LT(u, 3);
    sum += u;
    ++bins[static_cast<size_t>((u + 2) * 2)];
  }
  EXPECT_NEAR(sum / count, 0.5, 0.02);
  // Five standard deviations of a binomial count.
  for (const int bin : bins) EXPECT_NEAR(bin, count / 10, 5 * std::sqrt(count * 0.09));
}

TEST(Random, BelowIsEvenAndStaysBelow) {
  Random random(2, Purpose::test);
  std::vector<int> seen(7, 0);
  for (int i = 0; i < 70000; ++i) {
    const uint32_t n = random.below(7);
    ASSERT_LT(n, 7u);
    ++seen[n];
  }
  for (const int count : seen) EXPECT_NEAR(count, 10000, 5 * std::sqrt(70000 * 6.0 / 49));
  EXPECT_EQ(random.below(1), 0u);
  EXPECT_THROW(random.below(0), std::logic_error);
}

TEST(Random, ChanceKeepsToItsProbability) {
  Random random(3, Purpose::test);
  int hits = 0;
  for (int i = 0; i < 100000; ++i) {
    hits += random.chance(0.3f);
    ASSERT_FALSE(random.chance(0));
    ASSERT_TRUE(random.chance(1));
  }
  EXPECT_NEAR(hits, 30000, 5 * std::sqrt(100000 * 0.21));
}

TEST(Random, NormalHasMeanZeroVarianceOneAndTheRightTails) {
  Random random(4, Purpose::test);
  constexpr int count = 200000;
  double sum = 0, squares = 0;
  int beyond_two = 0;
  for (int i = 0; i < count; ++i) {
    const double z = random.normal();
    ASSERT_TRUE(std::isfinite(z));
    sum += z;
    squares += z * z;
    beyond_two += std::abs(z) > 2;
  }
  EXPECT_NEAR(sum / count, 0, 5 / std::sqrt(count));
  EXPECT_NEAR(squares / count, 1, 5 * std::sqrt(2.0 / count));
  EXPECT_NEAR(beyond_two / static_cast<double>(count), std::erfc(2 / std::sqrt(2.0)), 0.003);
}

// What a seed gives in one version of brightnet it gives in the next: a run that was begun by one is resumed by the other.
TEST(Random, AStreamIsThatOfItsSeedPurposeEpochAndSample) {
  constexpr uint64_t seed = 0x500000007, sample = 0x600000009;
  const auto block = [](uint32_t number) {
    return philox4x32({number, 9, 4, static_cast<uint32_t>(Purpose::augment) ^ (6u << 16)}, {7, 5});
  };
  const Random random(seed, Purpose::augment, 4, sample);
  const Block one = block(0), two = block(1);
  std::vector<uint32_t> expected(one.begin(), one.end());
  expected.insert(expected.end(), two.begin(), two.end());
  EXPECT_EQ(first(random), expected);
  Random uniform = random, below = random, normal = random;
  EXPECT_EQ(uniform.uniform(), static_cast<float>(one[0] >> 8) / 16777216.0f);
  EXPECT_EQ(below.below(1000), static_cast<uint32_t>(uint64_t{one[0]} * 1000 >> 32));
  const double radius = std::sqrt(-2 * std::log(1 - (one[0] >> 8) / 16777216.0));
  EXPECT_NEAR(normal.normal(), radius * std::cos(2 * std::acos(-1.0) * ((one[1] >> 8) / 16777216.0)), 1e-5);
}

TEST(Random, PurposesKeepTheirNumbersAndShareNone) {
  const Purpose all[] = {Purpose::tune,    Purpose::weights,  Purpose::order,  Purpose::augment,
                         Purpose::mosaic,  Purpose::synth,    Purpose::size,   Purpose::test,
                         Purpose::anchors, Purpose::geometry, Purpose::pixels, Purpose::paste,
                         Purpose::cutmix,  Purpose::cutout,   Purpose::tiles};
  for (uint32_t i = 0; i < std::size(all); ++i) EXPECT_EQ(static_cast<uint32_t>(all[i]), i);
}

}  // namespace
}  // namespace brightnet
