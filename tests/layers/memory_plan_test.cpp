#include "layers/memory_plan.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "core/random.h"
#include "tests/layers/models.h"

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

TEST(ArenaPlan, TheLargestFreeRangeIsFreeAndTheLargest) {
  for (uint64_t trial = 0; trial < 50; ++trial) {
    Random random(trial, Purpose::test);
    std::vector<Lifetime> lives(30);
    for (auto& life : lives) {
      life.first = static_cast<int>(random.below(20));
      life.last = life.first + static_cast<int>(random.below(6));
      life.bytes = random.below(3000);
    }
    const ArenaPlan plan = plan_arena(lives);
    const int times[] = {static_cast<int>(random.below(26)), static_cast<int>(random.below(26))};
    const int except = static_cast<int>(random.below(30));
    const size_t arena = plan.total + 100;
    // The same, block by block.
    size_t largest = 0, free = 0;
    for (size_t at = 0; at + 256 <= arena; at += 256) {
      bool used = false;
      for (size_t i = 0; i < lives.size(); ++i) {
        const auto alive = [&](int time) { return lives[i].first <= time && time <= lives[i].last; };
        const bool there = plan.offsets[i] < at + 256 && at < plan.offsets[i] + lives[i].bytes;
        used = used || (there && static_cast<int>(i) != except && (alive(times[0]) || alive(times[1])));
      }
      free = used ? 0 : free + 256;
      largest = std::max(largest, free);
    }
    const ArenaRange range = largest_free_range(lives, plan, arena, times, except);
    EXPECT_EQ(range.bytes, largest);
    EXPECT_EQ(range.offset % 256, 0u);
    EXPECT_LE(range.offset + range.bytes, arena);
    for (size_t i = 0; i < lives.size(); ++i) {
      const bool there =
          plan.offsets[i] < range.offset + range.bytes && range.offset < plan.offsets[i] + lives[i].bytes;
      for (const int time : times) {
        if (static_cast<int>(i) == except || time < lives[i].first || time > lives[i].last) continue;
        EXPECT_FALSE(there && lives[i].bytes > 0);
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

TEST(NetworkMemory, ARowIsWhatItsLayerHas) {
  const auto backend = make_cpu_backend();
  const Model model = testing::model_of(R"(
head: {anchors: [[10, 10]]}
layers:
  - conv: {name: stem, filters: 8, size: 3, stride: 2}
  - conv: {name: predicts, filters: auto, batch_norm: false, activation: linear}
  - yolo: {mask: [0]}
)",
                                        2);
  const ParameterLayout layout(model);
  const Parameters parameters{.layout = &layout};
  const Network network({.model = &model,
                         .backend = backend.get(),
                         .parameters = &parameters,
                         .batch = 2,
                         .height = 32,
                         .width = 64});
  const NetworkMemory& memory = network.memory();
  ASSERT_EQ(memory.rows.size(), 3u);
  const LayerMemoryRow &stem = memory.rows[0], &predicts = memory.rows[1];
  EXPECT_EQ(stem.name, "stem");
  EXPECT_EQ(stem.kind, "conv");
  EXPECT_EQ(stem.output, (Shape{2, 16, 32, 8}));
  EXPECT_EQ(stem.parameters, (8 * 27 + 4 * 8) * sizeof(float)) << "statistics included";
  EXPECT_EQ(stem.activation, stem.output.count() * sizeof(float));
  EXPECT_EQ(stem.gradient, stem.activation);
  EXPECT_GE(stem.saved, stem.activation) << "the convolution's output";
  EXPECT_EQ(predicts.output, (Shape{2, 16, 32, 7}));
  EXPECT_EQ(predicts.parameters, (7 * 8 + 7) * sizeof(float));
  EXPECT_EQ(predicts.gradient, predicts.output.count() * sizeof(float));
  EXPECT_EQ(memory.rows[2].activation, 0u) << "a head's output is its input";
  EXPECT_EQ(memory.arena(), memory.input + memory.working_weights + memory.step);
  EXPECT_GE(memory.input, 2 * 32 * 64 * 3 + Network::max_truths(2) * sizeof(Truth));
  EXPECT_GE(memory.step, stem.activation + stem.gradient);
  EXPECT_GE(memory.unshared, stem.activation + stem.saved + stem.gradient + predicts.activation);
}

}  // namespace
}  // namespace brightnet
