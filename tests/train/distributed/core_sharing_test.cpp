#include "train/distributed/core_sharing.h"

#include <gtest/gtest.h>
#include <sched.h>

#include "core/files.h"

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
  const char* no_control_groups = "/nowhere";
  const std::string unbound = own_processors(no_control_groups);
  CPU_ZERO(&one);
  for (int processor = 0; CPU_COUNT(&one) == 0; ++processor) {
    if (CPU_ISSET(processor, &all)) CPU_SET(processor, &one);
  }
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  const std::string bound = own_processors(no_control_groups);
  ::sched_setaffinity(0, sizeof all, &all);
  EXPECT_NE(bound, unbound);
  EXPECT_EQ(own_processors(no_control_groups), unbound);
}

// docker run --cpus, or a job's limit: ranks that are bound to cores of their own share it all the same.
TEST(CoreSharing, AQuotaBelowTheCoresIsShared) {
  namespace fs = std::filesystem;
  const fs::path root = fs::path(::testing::TempDir()) / "core_sharing_quota";
  fs::remove_all(root);
  for (const char* folder : {"proc/self", "sys/fs/cgroup"}) fs::create_directories(root / folder);
  write_atomically(root / "proc/self/cgroup", "0::/\n");
  const auto with_quota = [&](const char* quota) {
    write_atomically(root / "sys/fs/cgroup/cpu.max", std::string(quota) + " 100000\n");
    return own_processors(root);
  };
  const std::string unlimited = with_quota("max");
  EXPECT_EQ(with_quota("100000000"), unlimited) << "a quota of more than there are";
  EXPECT_NE(with_quota("50000"), unlimited);
  fs::remove_all(root);
}

}  // namespace
}  // namespace brightnet
