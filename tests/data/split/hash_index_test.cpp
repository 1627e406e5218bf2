#include "data/split/hash_index.h"

#include <bit>
#include <map>

#include <gtest/gtest.h>

#include "core/random.h"

namespace brightnet {
namespace {

uint64_t random_hash(Random& random) {
  return uint64_t{random()} << 32 | random();
}

// Random hashes, and near ones of them at every distance that is searched for and some beyond.
std::vector<uint64_t> hashes() {
  Random random(1, Purpose::test);
  std::vector<uint64_t> all;
  for (int i = 0; i < 60; ++i) {
    const uint64_t hash = random_hash(random);
    all.push_back(hash);
    for (int flips = 0; flips <= 18; ++flips) {
      uint64_t near = hash;
      while (std::popcount(near ^ hash) < flips) near ^= uint64_t{1} << random.below(64);
      all.push_back(near);
    }
  }
  return all;
}

TEST(HashIndex, FindsWhatComparingAllPairsFindsAndEachOnce) {
  const std::vector<uint64_t> all = hashes();
  for (const int distance : {0, 3, 4, 8, 11, 15}) {
    const HashIndex index(all, distance);
    for (size_t i = 0; i < all.size(); i += 7) {
      std::map<size_t, int> found;
      index.near(all[i], [&](size_t other, int bits) {
        EXPECT_TRUE(found.emplace(other, bits).second) << "found twice";
      });
      std::map<size_t, int> expected;
      for (size_t k = 0; k < all.size(); ++k) {
        const int bits = std::popcount(all[i] ^ all[k]);
        if (bits <= distance) expected.emplace(k, bits);
      }
      EXPECT_EQ(found, expected) << distance << " bits";
    }
  }
}

TEST(HashIndex, OfNothingFindsNothing) {
  const HashIndex index({}, 8);
  index.near(0, [](size_t, int) { ADD_FAILURE(); });
}

}  // namespace
}  // namespace brightnet
