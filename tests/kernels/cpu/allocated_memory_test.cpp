// What a device says of the memory that it has given.
#include <gtest/gtest.h>

#include "kernels/cpu/cpu_backend.h"

namespace brightnet::testing {
namespace {

TEST(AllocatedMemory, IsCountedNowAndAtMost) {
  cpu::CpuBackend backend;
  EXPECT_EQ(backend.peak_bytes(), 0u);
  void* const small = backend.allocate(1000);
  void* const large = backend.allocate(30'000);
  EXPECT_EQ(backend.allocated_bytes(), 31'000u);
  EXPECT_EQ(backend.peak_bytes(), 31'000u);
  backend.release(large, 30'000);
  EXPECT_EQ(backend.allocated_bytes(), 1000u);
  void* const other = backend.allocate(500);
  EXPECT_EQ(backend.allocated_bytes(), 1500u);
  EXPECT_EQ(backend.peak_bytes(), 31'000u) << "what was released was needed too";
  backend.release(other, 500);
  backend.release(small, 1000);
  EXPECT_EQ(backend.allocated_bytes(), 0u);
}

}  // namespace
}  // namespace brightnet::testing
