#include "core/require_memory.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"
#include "core/host_memory.h"

namespace brightnet {
namespace {

TEST(RequireMemory, SaysWhatIsWantedWhatThereIsAndWhatToDo) {
  bool asked = false;
  const auto remedy = [&] {
    asked = true;
    return std::string("Take less.");
  };
  EXPECT_NO_THROW(require_memory("a batch", 1024, {"cuda:0", 1024}, remedy));
  EXPECT_FALSE(asked);
  try {
    require_memory("a batch", 3 << 10, {"cuda:0", 2 << 10, "may be used"}, remedy);
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_STREQ(
        error.what(),
        "there is not enough memory on cuda:0: a batch takes 3.00 KiB, and 2.00 KiB may be used. Take less.");
    EXPECT_EQ(error.code(), ExitCode::input);
  }
  EXPECT_THROW(require_memory("all", SIZE_MAX, free_memory_of_host(), remedy), InputError);
}

TEST(HostMemory, IsTheLeastOfWhatTheMachineAndTheControlGroupLeave) {
  const std::filesystem::path root = std::filesystem::path(::testing::TempDir()) / "host_memory";
  std::filesystem::remove_all(root);
  const auto write = [&](const std::string& file, const std::string& text) {
    std::filesystem::create_directories((root / file).parent_path());
    write_atomically(root / file, text);
  };
  write("proc/meminfo", "MemTotal: 9000 kB\nMemFree: 100 kB\nMemAvailable:    5000 kB\nBuffers: 7 kB\n");
  EXPECT_EQ(free_host_memory(root), size_t{5000} * 1024);
  write("sys/fs/cgroup/memory.max", "max\n");
  write("sys/fs/cgroup/memory.current", "1000000\n");
  EXPECT_EQ(free_host_memory(root), size_t{5000} * 1024);
  write("sys/fs/cgroup/memory.max", "3000000\n");
  EXPECT_EQ(free_host_memory(root), 2000000u);
  write("sys/fs/cgroup/memory.stat", "anon 5\nfile 700000\ninactive_file 400000\nactive_file 3\n");
  EXPECT_EQ(free_host_memory(root), 2400000u) << "what is cached is given up";
  write("sys/fs/cgroup/memory.max", "100000\n");
  EXPECT_EQ(free_host_memory(root), 0u);
  write("sys/fs/cgroup/memory.max", "90000000\n");
  EXPECT_EQ(free_host_memory(root), size_t{5000} * 1024);
  std::filesystem::remove_all(root);
}

TEST(HostMemory, IsNoMoreThanTheAddressSpaceThatIsLeft) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const size_t used = pages * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const rlimit low{used + (size_t{64} << 20), before.rlim_max};
  if (::setrlimit(RLIMIT_AS, &low) != 0) GTEST_SKIP() << "the limit cannot be set";
  const size_t free = free_host_memory();
  ::setrlimit(RLIMIT_AS, &before);
  EXPECT_LE(free, size_t{64} << 20);
  EXPECT_GT(free, size_t{16} << 20);
}

TEST(HostMemory, IsWrittenInTheUnitThatFits) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1.00 KiB");
  EXPECT_EQ(format_bytes(10 * 1024), "10.0 KiB");
  EXPECT_EQ(format_bytes(1.5 * 1048576), "1.50 MiB");
  EXPECT_EQ(format_bytes(1073741824), "1.00 GiB");
  EXPECT_EQ(format_bytes(2048.0 * 1099511627776), "2048.0 TiB");
}

}  // namespace
}  // namespace brightnet
