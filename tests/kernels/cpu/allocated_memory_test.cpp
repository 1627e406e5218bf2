// What a device says of the memory that it has given.
#include <gtest/gtest.h>

#include "kernels/cpu/cpu_backend.h"

namespace brightnet::testing {
namespace {

/// With 3 MiB of free memory.
struct NearlyFullCpu : cpu::CpuBackend {
  size_t free_bytes() const override { return size_t{3} << 20; }
};

TEST(AllocatedMemory, WhichIsNotThereIsAnErrorWithBothFigures) {
  NearlyFullCpu backend;
  try {
    backend.allocate(size_t{5} << 20);
    ADD_FAILURE() << "5 MiB fit into 3";
  } catch (const InputError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("5 MiB are needed, and 3 MiB are free"), std::string::npos) << text;
  }
  EXPECT_EQ(backend.allocated_bytes(), 0u);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which end the process
/// Of a machine that has more than a process can get.
struct HugeCpu : cpu::CpuBackend {
  size_t free_bytes() const override { return size_t{1} << 62; }
};

TEST(AllocatedMemory, WhichTheProcessDoesNotGetIsNotSaidToBeFree) {
  HugeCpu backend;
  try {
    backend.allocate(size_t{1} << 60);
    ADD_FAILURE() << "an exbibyte was given";
  } catch (const InputError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("the process gets no more"), std::string::npos) << text;
    EXPECT_EQ(text.find("free"), std::string::npos) << text;
  }
}

#endif

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
