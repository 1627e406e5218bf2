#include "train/distributed/core_sharing.h"

#include <gtest/gtest.h>
#include <sched.h>

namespace brightnet {
namespace {

TEST(CoreSharing, RanksShareTheCoresThatTheyMayAllUse) {
  // Two of a socket each, one that is bound to a core, and one of another machine.
  const std::vector<std::string> ranks{"gpu01: 0 1 2 3", "gpu01: 0 1 2 3", "gpu01: 4 5 6 7",
                                       "gpu01: 4 5 6 7", "gpu01: 8",       "gpu02: 0 1 2 3"};
  const std::vector<int> sharing{2, 2, 2, 2, 1, 1};
  for (int rank = 0; rank < 6; ++rank)
    EXPECT_EQ(ranks_sharing_cores(ranks, rank), sharing[static_cast<size_t>(rank)]) << rank;
}

TEST(CoreSharing, ABoundProcessIsToldFromAnUnboundOne) {
  cpu_set_t all, one;
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "there is a single processor";
  const std::string unbound = own_processors();
  CPU_ZERO(&one);
  for (int processor = 0; CPU_COUNT(&one) == 0; ++processor) {
    if (CPU_ISSET(processor, &all)) CPU_SET(processor, &one);
  }
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  const std::string bound = own_processors();
  ::sched_setaffinity(0, sizeof all, &all);
  EXPECT_NE(bound, unbound);
  EXPECT_EQ(own_processors(), unbound);
}

}  // namespace
}  // namespace brightnet
