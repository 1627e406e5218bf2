#include "train/bench/benchmark.h"

#include <gtest/gtest.h>

namespace brightnet {
namespace {

TEST(Median, IsTheMiddleOneWhateverTheOrder) {
  EXPECT_EQ(median({7}), 7);
  EXPECT_EQ(median({9, 1, 5}), 5);
  EXPECT_EQ(median({1, 100, 2, 3, 50}), 3);
  EXPECT_EQ(median({4, 3, 2, 1}), 3) << "of an even number the larger one of both";
}

}  // namespace
}  // namespace brightnet
