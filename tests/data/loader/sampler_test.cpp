#include "data/loader/sampler.h"

#include <set>

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace brightnet
