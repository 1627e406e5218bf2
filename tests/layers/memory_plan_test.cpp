#include "layers/memory_plan.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "core/random.h"

namespace brightnet {
namespace {

TEST(ArenaPlan, TensorsAliveTogetherNeverOverlap) {
  for (uint64_t trial = 0; trial < 50; ++trial) {
    Random random(trial, Purpose::test);
    std::vector<Lifetime> lives(60);
    for (auto& life : lives) {
      life.first = static_cast<int>(random.below(40));
      life.last = life.first + static_cast<int>(random.below(20));
      life.bytes = random.below(5000);
    }
    const ArenaPlan plan = plan_arena(lives);
    for (size_t i = 0; i < lives.size(); ++i) {
      EXPECT_EQ(plan.offsets[i] % 256, 0u);
      EXPECT_LE(plan.offsets[i] + lives[i].bytes, plan.total);
      for (size_t j = 0; j < i; ++j) {
        const bool together = lives[i].first <= lives[j].last && lives[j].first <= lives[i].last;
        const bool overlap = plan.offsets[i] < plan.offsets[j] + lives[j].bytes &&
                             plan.offsets[j] < plan.offsets[i] + lives[i].bytes;
        EXPECT_FALSE(together && overlap && lives[i].bytes && lives[j].bytes);
      }
    }
  }
}

TEST(ArenaPlan, ReusesMemoryOfTheDead) {
  const ArenaPlan plan = plan_arena({{768, 0, 1}, {768, 2, 3}, {768, 4, 5}});
  EXPECT_EQ(plan.total, 768u);
}

TEST(ArenaPlan, IsNearTheLowerBoundForAChain) {
  // A chain in which each tensor lives from its making to the next one's use: two alive at any time.
  std::vector<Lifetime> lives;
  for (int i = 0; i < 20; ++i) lives.push_back({1024, i, i + 1});
  EXPECT_EQ(plan_arena(lives).total, 2048u);
}

}  // namespace
}  // namespace brightnet
