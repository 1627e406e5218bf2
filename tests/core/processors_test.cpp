#include "core/processors.h"

#include <gtest/gtest.h>

#include "core/files.h"

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

}  // namespace
}  // namespace brightnet
