// Plain dereferences of kernels that are wrong on purpose. This file is compiled as kernels are, with every access
// reported (tests/CMakeLists.txt).
#include <gtest/gtest.h>

#include "kernels/cuda/runtime.h"
#include "tests/cuda_emulation/traffic.h"
#include "tests/cuda_emulation/violation.h"

namespace brightnet::cuda {
namespace {

__global__ void copy_from(const float* x, float* y, int first) {
  y[threadIdx.x] = x[static_cast<int>(threadIdx.x) + first];
}
/// Reads `beyond` elements after the thread's own.
__global__ void read_shared(float* y, int beyond) {
  BRIGHTNET_SHARED(float, numbers, [8]);
  numbers[threadIdx.x] = 1;
  __syncthreads();
  y[threadIdx.x] = numbers[static_cast<int>(threadIdx.x) + beyond];
}

TEST(CudaEmulation, ChecksPlainDereferencesToo) {
  if (!emulation::CountTraffic::available()) GTEST_SKIP() << "the compiler serves another sanitizer";
  const DeviceArray<float> x(first_numbers(33)), y(size_t{33});
  const float* from = x;
  float* to = y;
  EXPECT_EQ(violation_of_launch(copy_from, 1, 32, 0, from, to, 1), "no violation");
  EXPECT_SAYS(violation_of_launch(copy_from, 1, 32, 0, from, to, 2), "reaches beyond live device memory");
  EXPECT_SAYS(violation_of_launch(copy_from, 1, 32, 0, from, to, -1), "reaches beyond live device memory");
  const auto* odd = reinterpret_cast<const float*>(reinterpret_cast<const char*>(from) + 2);
  EXPECT_SAYS(violation_of_launch(copy_from, 1, 32, 0, odd, to, 0), "is not aligned to its size");
  EXPECT_EQ(violation_of_launch(read_shared, 1, 8, 0, to, 0), "no violation");
  EXPECT_SAYS(violation_of_launch(read_shared, 1, 8, 0, to, 1), "reaches beyond a shared variable");
}

}  // namespace
}  // namespace brightnet::cuda
