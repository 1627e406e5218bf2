#include "kernels/memory_need.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "kernels/cpu/cpu_backend.h"

namespace brightnet {
namespace {

/// With as much free memory as a test wants, and beside its host where it says so, as a GPU is.
class SmallDevice : public cpu::CpuBackend {
 public:
  SmallDevice(size_t free, bool beside) : free_(free), beside_(beside) {}
  size_t free_bytes() const override { return free_; }
  bool works_beside_host() const override { return beside_; }

 private:
  size_t free_;
  bool beside_;
};

bool fits(const MemoryNeed& need, const Device& device, int processes = 1) {
  try {
    require_memory(
        "it", need, device, [] { return ""; }, processes);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

TEST(MemoryNeed, OnTheCpuDeviceAndHostAreOneMemoryThatProcessesShare) {
  const SmallDevice cpu(100, false);
  EXPECT_TRUE(fits({60, 40}, cpu));
  EXPECT_FALSE(fits({60, 41}, cpu));
  EXPECT_TRUE(fits({30, 20}, cpu, 2));
  EXPECT_FALSE(fits({30, 21}, cpu, 2));
}

TEST(MemoryNeed, AGpuHasItsOwnAndEachProcessAGpu) {
  const SmallDevice gpu(100, true);
  EXPECT_TRUE(fits({100, 1000}, gpu, 8));
  EXPECT_FALSE(fits({101, 0}, gpu));
  constexpr size_t most = size_t{1} << 50;  // of no machine's host
  EXPECT_FALSE(fits({100, most}, gpu));
}

TEST(MemoryNeed, OnGpusProcessesShareTheHosts) {
  const SmallDevice gpu(100, true);
  const size_t quarter = free_memory_of_host().bytes / 4;
  EXPECT_TRUE(fits({100, quarter}, gpu));
  EXPECT_FALSE(fits({100, quarter}, gpu, 8));
}

}  // namespace
}  // namespace brightnet
