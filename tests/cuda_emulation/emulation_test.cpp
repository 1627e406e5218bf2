// The emulation's strictness about threads, by kernels that are wrong on purpose; and that right ones give
// the right result.
#include <algorithm>

#include <gtest/gtest.h>

#include "tests/cuda_emulation/launch.h"
#include "tests/cuda_emulation/violation.h"

namespace brightnet::cuda {
namespace {

__global__ void sum_of_block(const float* x, float* sums, int per_block) {
  BRIGHTNET_SHARED(float, of_warp, [32]);
  float sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < per_block; i += static_cast<int>(blockDim.x))
    sum += x[blockIdx.x * per_block + i];
  sum = warp_sum(sum);
  if (threadIdx.x % warp_size == 0) of_warp[threadIdx.x / warp_size] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (unsigned warp = 1; warp < blockDim.x / warp_size; ++warp) sum += of_warp[warp];
    sums[blockIdx.x] = sum;
  }
}

TEST(CudaEmulation, ReducesByShufflesAndSharedMemory) {
  const Stream stream;
  const DeviceArray<float> x(first_numbers(3000)), sums(size_t{3});
  launch(sum_of_block, 3, 256, 0, stream, x, sums, 1000);
  EXPECT_EQ(sums.get(), (std::vector<float>{500500, 1500500, 2500500}));
}

__global__ void exchange_lanes(int* results) {
  const int lane = static_cast<int>(threadIdx.x);
  int* mine = results + lane * 8;
  mine[0] = __shfl_sync(full_warp, lane, 5);
  mine[1] = __shfl_up_sync(full_warp, lane, 3u);
  mine[2] = __shfl_down_sync(full_warp, lane, 3u, 8);
  mine[3] = __shfl_xor_sync(full_warp, lane, 9);
  mine[4] = static_cast<int>(__ballot_sync(full_warp, lane % 3 == 0));
  mine[5] =
      __any_sync(full_warp, lane == 31) + 2 * __all_sync(full_warp, lane >= 0) + 4 * __any_sync(full_warp, 0);
  mine[6] = __syncthreads_count(lane < 7);
  mine[7] = static_cast<int>(__shfl_sync(full_warp, 1e300 * lane, 2) / 1e300);
}

TEST(CudaEmulation, ShufflesAndVotesAsCudaDefinesThem) {
  const Stream stream;
  const DeviceArray<int> results(size_t{256});
  launch(exchange_lanes, 1, 32, 0, stream, results);
  const std::vector<int> got = results.get();
  for (int lane = 0; lane < 32; ++lane) {
    const int* mine = got.data() + lane * 8;
    EXPECT_EQ(mine[0], 5);
    EXPECT_EQ(mine[1], lane < 3 ? lane : lane - 3);
    EXPECT_EQ(mine[2], lane % 8 < 5 ? lane + 3 : lane);
    EXPECT_EQ(mine[3], lane ^ 9);
    EXPECT_EQ(static_cast<unsigned>(mine[4]), 0x49249249u);
    EXPECT_EQ(mine[5], 3);
    EXPECT_EQ(mine[6], 7);
    EXPECT_EQ(mine[7], 2);
  }
}

__global__ void count_by_atomics(int* counts, unsigned* most) {
  atomicAdd(counts + threadIdx.x % 4, 1);
  atomicMax(most, threadIdx.x + blockIdx.x);
}

TEST(CudaEmulation, AtomicsLoseNothing) {
  const Stream stream;
  const DeviceArray<int> counts(std::vector<int>(4));
  const DeviceArray<unsigned> most(std::vector<unsigned>(1));
  launch(count_by_atomics, 5, 100, 0, stream, counts, most);
  EXPECT_EQ(counts.get(), (std::vector<int>(4, 125)));
  EXPECT_EQ(most.get()[0], 103u);
}

__global__ void write_index(dim3 unit, int* to) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
                 z = blockIdx.z * blockDim.z + threadIdx.z;
  const unsigned width = gridDim.x * blockDim.x, height = gridDim.y * blockDim.y;
  to[(z * height + y) * width + x] = static_cast<int>(x * unit.x + y * unit.y + z * unit.z);
}

TEST(CudaEmulation, CoversGridsAndBlocksOfThreeDimensions) {
  const Stream stream;
  const DeviceArray<int> to(size_t{4 * 6 * 4});
  launch(write_index, dim3(2, 3, 2), dim3(2, 2, 2), 0, stream, dim3(1, 10, 100), to);
  const auto got = to.get();
  for (int i = 0; i < 96; ++i) EXPECT_EQ(got[i], i % 4 + i / 4 % 6 * 10 + i / 24 * 100);
}

__global__ void some_skip_a_barrier(float* x) {
  if (threadIdx.x < 40) __syncthreads();
  x[threadIdx.x] = 1;
  if (threadIdx.x >= 40) __syncwarp();
}
__global__ void leave_before_a_barrier(float* x) {
  if (threadIdx.x >= 40) return;
  __syncthreads();
  x[threadIdx.x] = 1;
}
__global__ void wait_at_two_barriers(float* x) {
  if (threadIdx.x < 40) {
    __syncthreads();
  } else {
    __syncthreads();
  }
  x[threadIdx.x] = 1;
}

TEST(CudaEmulation, SaysWhichThreadsABarrierWaitsFor) {
  const DeviceArray<float> x(size_t{64});
  // Those that returned are not waited for; those that wait elsewhere are.
  EXPECT_EQ(violation_of_launch(leave_before_a_barrier, 1, 64, 0, static_cast<float*>(x)), "no violation");
  const std::string text = violation_of_launch(wait_at_two_barriers, 1, 64, 0, static_cast<float*>(x));
  EXPECT_SAYS(text, "different barriers");
  EXPECT_SAYS(text, "emulation_test.cpp:");
}

__global__ void barrier_against_shuffle(float* x) {
  if (threadIdx.x < 8) {
    __syncthreads();
  } else {
    x[threadIdx.x] = __shfl_sync(full_warp, x[threadIdx.x], 0);
  }
}

TEST(CudaEmulation, SaysThatThreadsWaitForEachOther) {
  const DeviceArray<float> x(size_t{64});
  const std::string text = violation_of_launch(barrier_against_shuffle, 1, 32, 0, static_cast<float*>(x));
  EXPECT_SAYS(text, "wait for each other forever");
  EXPECT_SAYS(text, "__syncthreads");
  EXPECT_SAYS(text, "__shfl_sync");
  const std::string skipped = violation_of_launch(some_skip_a_barrier, 1, 64, 0, static_cast<float*>(x));
  EXPECT_SAYS(skipped, "thread 0 waits at __syncthreads");
  EXPECT_SAYS(skipped, "thread 40 waits at __syncwarp");
}

__global__ void read_a_lane_that_left(float* x) {
  if (threadIdx.x >= 16) return;
  x[threadIdx.x] = __shfl_down_sync(full_warp, x[threadIdx.x], 8u);
}
__global__ void read_a_lane_outside_the_mask(float* x) {
  if (threadIdx.x < 16) x[threadIdx.x] = __shfl_sync(0xffffu, x[threadIdx.x], 20);
}
__global__ void use_anothers_mask(float* x) {
  if (threadIdx.x < 16) x[threadIdx.x] = __shfl_sync(0xffff0000u, x[threadIdx.x], 20);
}

TEST(CudaEmulation, SaysWhichLaneIsNotThere) {
  const DeviceArray<float> x(first_numbers(64));
  EXPECT_SAYS(violation_of_launch(read_a_lane_that_left, 1, 32, 0, static_cast<float*>(x)),
              "has left the kernel");
  EXPECT_SAYS(violation_of_launch(read_a_lane_outside_the_mask, 1, 32, 0, static_cast<float*>(x)),
              "reads lane 20, which is not in the mask");
  EXPECT_SAYS(violation_of_launch(use_anothers_mask, 1, 32, 0, static_cast<float*>(x)),
              "is not in its own mask");
}

__global__ void pass_to_the_left_without_barrier(const float* x, float* y) {
  BRIGHTNET_SHARED(float, row, [64]);
  row[threadIdx.x] = x[threadIdx.x];
  y[threadIdx.x] = row[(threadIdx.x + 1) % blockDim.x];
}
// The first barrier is there, but a quick thread overwrites what a slow one has yet to read.
__global__ void double_without_second_barrier(float* x) {
  BRIGHTNET_SHARED(float, row, [64]);
  for (int round = 0; round < 2; ++round) {
    row[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] += row[(threadIdx.x + 1) % blockDim.x];
  }
}

TEST(CudaEmulation, ShowsAMissingBarrier) {
  const DeviceArray<float> x(first_numbers(64)), y(size_t{64});
  EXPECT_SAYS(violation_of_launch(pass_to_the_left_without_barrier, 1, 64, 0, static_cast<const float*>(x),
                                  static_cast<float*>(y)),
              "another result when its threads run in another order");
  EXPECT_SAYS(violation_of_launch(double_without_second_barrier, 1, 64, 0, static_cast<float*>(x)),
              "another result when its threads run in another order");
}

__global__ void take_places(const float* x, float* y, int* count) {
  y[atomicAdd(count, 1)] = x[threadIdx.x];
}

TEST(CudaEmulation, LetsAListBeInAnyOrderWhenToldSo) {
  const Stream stream;
  const DeviceArray<float> x(first_numbers(64)), y(size_t{64});
  const DeviceArray<int> count(std::vector<int>(1));
  EXPECT_SAYS(violation_of_launch(take_places, 1, 64, 0, static_cast<const float*>(x), static_cast<float*>(y),
                                  static_cast<int*>(count)),
              "another result");
  const emulation::AnyOrder any_order;
  fill_async(count, 0, sizeof(int), stream);
  launch(take_places, 1, 64, 0, stream, x, y, count);
  std::vector<float> taken = y.get();
  EXPECT_NE(taken, first_numbers(64)) << "the threads ran in their order";
  std::sort(taken.begin(), taken.end());
  EXPECT_EQ(taken, first_numbers(64));
}

__global__ void do_nothing() {}
__global__ void use_much_shared_memory(float* y) {
  BRIGHTNET_SHARED(float, large, [13 << 10]);
  large[threadIdx.x] = 0;
  *y = large[0];
}
__global__ void use_dynamic(float* y) {
  *y = dynamic_shared<float>()[0];
}

TEST(CudaStream, OfHighPriorityGoesBeforeOthers) {
  const Stream normal, high(Stream::Priority::high);
  int of_normal = 0, of_high = 0;
  check(cudaStreamGetPriority(normal, &of_normal), "ask for a stream's priority");
  check(cudaStreamGetPriority(high, &of_high), "ask for a stream's priority");
  EXPECT_LT(of_high, of_normal) << "lower numbers go first";
}

TEST(CudaEmulation, KeepsToTheLimitsOfComputeCapability75) {
  const DeviceArray<float> y(size_t{1});
  EXPECT_SAYS(violation_of_launch(do_nothing, 1, 1025, 0), "1024 are the most");
  EXPECT_SAYS(violation_of_launch(do_nothing, 1, dim3(1, 1, 65), 0), "64 in z");
  EXPECT_SAYS(violation_of_launch(do_nothing, 0, 32, 0), "a grid of 0x1x1");
  EXPECT_SAYS(violation_of_launch(do_nothing, dim3(1, 65536, 1), 32, 0), "65535");
  EXPECT_SAYS(violation_of_launch(do_nothing, 1, 32, (48 << 10) + 1), "bytes of shared memory");
  EXPECT_SAYS(violation_of_launch(use_much_shared_memory, 1, 32, 0, static_cast<float*>(y)),
              "over the limit");
  const auto* kernel = reinterpret_cast<const void*>(use_dynamic);
  EXPECT_EQ(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10), cudaSuccess);
  EXPECT_EQ(violation_of_launch(use_dynamic, 1, 1, 64 << 10, static_cast<float*>(y)), "no violation");
  EXPECT_NE(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 65 << 10), cudaSuccess);
}

}  // namespace
}  // namespace brightnet::cuda
