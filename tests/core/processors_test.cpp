#include "core/processors.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "core/files.h"
#include "core/threads.h"
#include "tests/environment.h"

namespace brightnet {
namespace {

namespace fs = std::filesystem;

/// A file system with control groups.
class ProcessorQuota : public ::testing::Test {
 protected:
  ProcessorQuota()
      : root_(
            fs::path(::testing::TempDir()) /
            ("processors_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()))) {
    fs::remove_all(root_);
  }
  ~ProcessorQuota() override { fs::remove_all(root_); }

  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    write_atomically(root_ / file, text);
  }
  std::optional<double> quota() const { return processor_quota(root_); }

  const fs::path root_;
};

TEST_F(ProcessorQuota, IsNoneWithoutControlGroups) {
  EXPECT_FALSE(quota());
  write("proc/self/cgroup", "nonsense\n\n0:\n");
  EXPECT_FALSE(quota());
}

TEST_F(ProcessorQuota, IsReadFromVersion2) {
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/cpu.max", "max 100000\n");
  EXPECT_FALSE(quota());
  write("sys/fs/cgroup/cpu.max", "150000 100000\n");
  EXPECT_EQ(quota(), 1.5);
  write("sys/fs/cgroup/cpu.max", "30000 20000\n");
  EXPECT_EQ(quota(), 1.5) << "in periods of 20 ms";
}

TEST_F(ProcessorQuota, IsTheLeastOfTheGroupsAbove) {
  write("proc/self/cgroup", "0::/slice/job\n");
  write("sys/fs/cgroup/slice/job/cpu.max", "400000 100000\n");
  EXPECT_EQ(quota(), 4);
  write("sys/fs/cgroup/slice/cpu.max", "200000 100000\n");
  EXPECT_EQ(quota(), 2);
}

TEST_F(ProcessorQuota, IsReadFromVersion1) {
  write("proc/self/cgroup", "5:memory:/docker/1f\n4:cpu,cpuacct:/docker/1f\n3:cpuset:/docker/1f\n0::/\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_FALSE(quota());
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "250000\n");
  EXPECT_EQ(quota(), 2.5) << "the host's path is not visible in a container";
  write("sys/fs/cgroup/cpu/docker/1f/cpu.cfs_quota_us", "50000\n");
  write("sys/fs/cgroup/cpu/docker/1f/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota(), 0.5);
}

TEST(UsableProcessors, AreAtLeastOne) {
  EXPECT_GE(usable_processors(), 1);
}

TEST_F(ProcessorQuota, CountsAsWholeProcessors) {
  const int all = usable_processors(root_);
  write("proc/self/cgroup", "0::/\n");
  for (const auto& [quota, processors] :
       {std::pair("20000", 1), {"100000", 1}, {"150000", 2}, {"200000", 2}}) {
    write("sys/fs/cgroup/cpu.max", std::string(quota) + " 100000\n");
    EXPECT_EQ(usable_processors(root_), std::min(all, processors)) << quota;
  }
  write("sys/fs/cgroup/cpu.max", "999999999999999 1\n");
  EXPECT_EQ(usable_processors(root_), all);
}

TEST(ComputeThreads, AreTheUsableProcessorsUnlessOpenMPsVariableSaysHowMany) {
  testing::Environment environment;
  const int before = omp_get_max_threads(), other = usable_processors() + 1;
  omp_set_num_threads(other);
  environment.set("OMP_NUM_THREADS", "3");
  limit_compute_threads();
  EXPECT_EQ(compute_threads(), other) << "OpenMP itself heeds it";
  environment.set("OMP_NUM_THREADS", std::nullopt);
  limit_compute_threads();
  EXPECT_EQ(compute_threads(), usable_processors());
  omp_set_num_threads(before);
}

TEST(ParallelRanges, CoverEverythingOnce) {
  for (const size_t count : {0, 1, 2, 3, 1000}) {
    std::vector<int> times(count);
    parallel_ranges(count, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) ++times[i];
    });
    EXPECT_EQ(times, std::vector<int>(count, 1));
  }
}

}  // namespace
}  // namespace brightnet
