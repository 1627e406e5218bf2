#include "data/loader/sampler.h"

#include <algorithm>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "core/random.h"

namespace brightnet {
namespace {

TEST(Sampler, RanksTakeTheirPartOfEachGlobalBatch) {
  Sampler alone(23, 6, {0, 1}, 9, 0);
  EXPECT_EQ(alone.steps_per_epoch(), 4u);
  for (uint64_t step = 0; step < 4; ++step) {
    std::vector<SamplePosition> all, part;
    alone.batch(2, step, all);
    for (int rank = 0; rank < 3; ++rank) {
      Sampler sampler(23, 2, {rank, 3}, 9, 0);
      EXPECT_EQ(sampler.steps_per_epoch(), 4u);
      sampler.batch(2, step, part);
      ASSERT_EQ(part.size(), 2u);
      for (size_t i = 0; i < 2; ++i) {
        const SamplePosition& whole = all[static_cast<size_t>(rank) * 2 + i];
        EXPECT_EQ(part[i].position, whole.position);
        EXPECT_EQ(part[i].image, whole.image);
        EXPECT_EQ(part[i].real, whole.real);
      }
    }
  }
}

TEST(Sampler, PermutationsAreOfTheEpochAndFair) {
  Sampler sampler(4, 4, {}, 1, 0);
  std::vector<SamplePosition> samples;
  int first[4] = {};
  for (uint64_t epoch = 0; epoch < 4000; ++epoch) {
    sampler.batch(epoch, 0, samples);
    std::set<int> images;
    for (const auto& sample : samples) images.insert(sample.image);
    ASSERT_EQ(images.size(), 4u);
    ++first[samples[0].image];
  }
  for (const int count : first) EXPECT_NEAR(count, 1000, 120);
}

TEST(Sampler, PadsMoreThanAWholeDataSetWhenItMust) {
  Sampler sampler(3, 8, {}, 1, 0);
  std::vector<SamplePosition> samples;
  sampler.batch(0, 0, samples);
  ASSERT_EQ(samples.size(), 8u);
  for (size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(samples[i].real, i < 3);
    EXPECT_EQ(samples[i].image, samples[i % 3].image);
    EXPECT_EQ(samples[i].position, i) << "padding is drawn by itself: another augmentation";
  }
}

TEST(Sampler, GivenStepsDrawAnotherPermutationEachTimeRound) {
  constexpr int images = 20;
  Sampler sampler(images, images, {}, 1, 3);
  EXPECT_EQ(sampler.steps_per_epoch(), 3u);
  std::vector<SamplePosition> samples;
  std::set<std::vector<int>> orders;
  for (uint64_t epoch = 0; epoch < 3; ++epoch) {
    for (uint64_t round = 0; round < 3; ++round) {
      sampler.batch(epoch, round, samples);
      std::vector<int> order;
      for (const auto& sample : samples) {
        EXPECT_TRUE(sample.real);
        EXPECT_EQ(sample.position, round * images + order.size());
        order.push_back(sample.image);
      }
      EXPECT_EQ(std::set<int>(order.begin(), order.end()).size(), static_cast<size_t>(images));
      orders.insert(order);
    }
  }
  EXPECT_EQ(orders.size(), 9u) << "no two rounds, of one epoch or of two, are in the same order";
}

TEST(Sampler, AnswersOutOfOrderTheSame) {
  Sampler forward(50, 5, {}, 1, 30), backward(50, 5, {}, 1, 30);
  std::vector<std::vector<SamplePosition>> expected(30);
  for (uint64_t step = 0; step < 30; ++step) forward.batch(1, step, expected[step]);
  std::vector<SamplePosition> samples;
  for (uint64_t step = 30; step-- > 0;) {
    backward.batch(1, step, samples);
    for (size_t i = 0; i < 5; ++i) EXPECT_EQ(samples[i].image, expected[step][i].image);
  }
}

/// The images of an epoch in their order.
std::vector<int> order_of(Sampler sampler, uint64_t epoch) {
  std::vector<int> order;
  std::vector<SamplePosition> samples;
  for (uint64_t step = 0; step < sampler.steps_per_epoch(); ++step) {
    sampler.batch(epoch, step, samples);
    for (const SamplePosition& sample : samples) {
      if (sample.real) order.push_back(sample.image);
    }
  }
  return order;
}

TEST(Sampler, ReadsRunsInSequenceThroughItsBuffer) {
  constexpr int images = 1000, run = 100, buffer = 30;
  ImageRuns runs;
  for (uint32_t first = 0; first < images; first += run) runs.first.push_back(first);
  runs.buffer = buffer;
  const Sampler sampler(images, 8, {}, 5, 0, runs);
  const std::vector<int> order = order_of(sampler, 3);
  EXPECT_EQ(std::set<int>(order.begin(), order.end()).size(), static_cast<size_t>(images)) << "each one once";
  EXPECT_NE(order, order_of(sampler, 4));
  EXPECT_EQ(order, order_of(sampler, 3));
  // The runs follow each other: few are read from at a time, and of each what its sequence has reached.
  int most_ahead = 0, in_sequence = 0;
  std::vector<int> taken(images / run, 0), seen;
  for (size_t i = 0; i < order.size(); ++i) {
    const int own = order[i] / run;
    if (std::find(seen.begin(), seen.end(), own) == seen.end()) seen.push_back(own);
    most_ahead = std::max(most_ahead, order[i] % run - taken[static_cast<size_t>(own)]);
    ++taken[static_cast<size_t>(own)];
    in_sequence += i > 0 && order[i] == order[i - 1] + 1;
    EXPECT_LE(
        std::count_if(seen.begin(), seen.end(), [&](int r) { return taken[static_cast<size_t>(r)] < run; }),
        4);
  }
  EXPECT_LE(most_ahead, buffer + 1);
  EXPECT_LT(in_sequence, images / 5) << "shuffled all the same";
  EXPECT_NE(seen, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})) << "the runs are, too";
}

TEST(Sampler, RunsAreTheSameForAnyNumberOfRanks) {
  const ImageRuns runs{{0, 7, 15}, 5};
  Sampler alone(23, 6, {0, 1}, 9, 0, runs);
  std::vector<SamplePosition> all, part;
  alone.batch(1, 2, all);
  for (int rank = 0; rank < 3; ++rank) {
    Sampler sampler(23, 2, {rank, 3}, 9, 0, runs);
    sampler.batch(1, 2, part);
    for (size_t i = 0; i < 2; ++i) {
      const SamplePosition& whole = all[static_cast<size_t>(rank) * 2 + i];
      EXPECT_EQ(part[i].image, whole.image);
      EXPECT_TRUE(
          std::equal(part[i].nearby.begin(), part[i].nearby.end(), whole.nearby.begin(), whole.nearby.end()));
    }
  }
}

TEST(Sampler, NearbyImagesAreThoseAroundInTheOrder) {
  Sampler sampler(50, 1, {}, 2, 0, {{0, 25}, 10});
  const std::vector<int> order = order_of(sampler, 0);
  std::vector<SamplePosition> samples;
  for (const uint64_t step : {0u, 3u, 20u, 49u}) {
    sampler.batch(0, step, samples);
    const uint64_t from = std::min<uint64_t>(step < 5 ? 0 : step - 5, 40);
    ASSERT_EQ(samples[0].nearby.size(), 10u);
    for (size_t i = 0; i < 10; ++i)
      EXPECT_EQ(static_cast<int>(samples[0].nearby[i]), order[from + i]) << step;
  }
  const SamplePosition kept = samples[0];
  const std::vector<uint32_t> before(kept.nearby.begin(), kept.nearby.end());
  sampler.batch(7, 0, samples);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), kept.nearby.begin())) << "workers may still need it";
}

// Runs of one seed and configuration have the same weights in every version: the order is part of that.
TEST(Sampler, ShufflesByTheStreamOfItsSeedAndEpoch) {
  std::vector<int> expected(20);
  std::iota(expected.begin(), expected.end(), 0);
  Random random(7, Purpose::order, 3, 0);
  for (uint32_t last = 20; last-- > 1;) std::swap(expected[last], expected[random.below(last + 1)]);
  EXPECT_EQ(order_of(Sampler(20, 5, {}, 7, 0), 3), expected);
}

TEST(Sampler, AnotherSeedIsAnotherOrder) {
  for (const ImageRuns& runs : {ImageRuns{}, ImageRuns{{0, 20}, 5}}) {
    const std::vector<int> order = order_of(Sampler(50, 5, {}, 1, 0, runs), 0);
    EXPECT_EQ(order, order_of(Sampler(50, 5, {}, 1, 0, runs), 0));
    EXPECT_NE(order, order_of(Sampler(50, 5, {}, 2, 0, runs), 0));
  }
}

}  // namespace
}  // namespace brightnet
