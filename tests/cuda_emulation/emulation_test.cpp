// The emulation's strictness, by kernels that are wrong on purpose; and that right ones give the right
// result.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "kernels/cuda/vector.h"
#include "tests/cuda_emulation/block.h"
#include "tests/cuda_emulation/launch.h"
#include "tests/cuda_emulation/memory.h"

namespace brightnet::cuda {
namespace {

using emulation::Violation;

/// Device memory for one test, with what is needed to fill and read it.
template <typename T>
class Array {
 public:
  explicit Array(const std::vector<T>& values) : count_(values.size()) {
    data_ = static_cast<T*>(allocate(count_ * sizeof(T)));
    check(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyDefault), "fill an array");
  }
  explicit Array(size_t count) : count_(count) { data_ = static_cast<T*>(allocate(count * sizeof(T))); }
  ~Array() { release(data_); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  operator T*() const { return data_; }
  std::vector<T> get(cudaStream_t stream) const {
    std::vector<T> values(count_);
    copy_async(values.data(), data_, count_ * sizeof(T), stream);
    return values;
  }

 private:
  T* data_;
  size_t count_;
};

/// The message of the Violation that the action must end with.
template <typename Action>
std::string violation_of(Action&& action) {
  try {
    action();
  } catch (const Violation& violation) {
    return violation.what();
  }
  return "no violation";
}

/// Launches and waits.
template <typename... Parameters, typename... Arguments>
std::string violation_of_launch(void (*kernel)(Parameters...), const Grid& grid, const dim3& block,
                                size_t shared, Arguments... arguments) {
  const Stream stream;
  return violation_of([&] {
    launch(kernel, grid, block, shared, stream, arguments...);
    stream.synchronize();
  });
}

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << text

std::vector<float> first_numbers(size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

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
  const Array<float> x(first_numbers(3000)), sums(size_t{3});
  launch(sum_of_block, 3, 256, 0, stream, x, sums, 1000);
  EXPECT_EQ(sums.get(stream), (std::vector<float>{500500, 1500500, 2500500}));
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
  const Array<int> results(size_t{256});
  launch(exchange_lanes, 1, 32, 0, stream, results);
  const std::vector<int> got = results.get(stream);
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
  const Array<int> counts(std::vector<int>(4));
  const Array<unsigned> most(std::vector<unsigned>(1));
  launch(count_by_atomics, 5, 100, 0, stream, counts, most);
  EXPECT_EQ(counts.get(stream), (std::vector<int>(4, 125)));
  EXPECT_EQ(most.get(stream)[0], 103u);
}

__global__ void write_index(dim3 unit, int* to) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
                 z = blockIdx.z * blockDim.z + threadIdx.z;
  const unsigned width = gridDim.x * blockDim.x, height = gridDim.y * blockDim.y;
  to[(z * height + y) * width + x] = static_cast<int>(x * unit.x + y * unit.y + z * unit.z);
}

TEST(CudaEmulation, CoversGridsAndBlocksOfThreeDimensions) {
  const Stream stream;
  const Array<int> to(size_t{4 * 6 * 4});
  launch(write_index, dim3(2, 3, 2), dim3(2, 2, 2), 0, stream, dim3(1, 10, 100), to);
  const auto got = to.get(stream);
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
  const Array<float> x(size_t{64});
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
  const Array<float> x(size_t{64});
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
  const Array<float> x(first_numbers(64));
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
  const Array<float> x(first_numbers(64)), y(size_t{64});
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
  const Array<float> x(first_numbers(64)), y(size_t{64});
  const Array<int> count(std::vector<int>(1));
  EXPECT_SAYS(violation_of_launch(take_places, 1, 64, 0, static_cast<const float*>(x), static_cast<float*>(y),
                                  static_cast<int*>(count)),
              "another result");
  const emulation::AnyOrder any_order;
  fill_async(count, 0, sizeof(int), stream);
  launch(take_places, 1, 64, 0, stream, x, y, count);
  std::vector<float> taken = y.get(stream);
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

TEST(CudaEmulation, KeepsToTheLimitsOfComputeCapability75) {
  const Array<float> y(size_t{1});
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

struct Arguments {
  int count;
  const float* x;
  float* y;
};
__global__ void copy_by_struct(Arguments arguments) {
  if (static_cast<int>(threadIdx.x) < arguments.count) arguments.y[threadIdx.x] = arguments.x[threadIdx.x];
}
__global__ void copy_by_pointers(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x];
}

TEST(CudaEmulation, RefusesHostAndFreedPointers) {
  const Stream stream;
  const Array<float> x(first_numbers(32)), y(size_t{32});
  std::vector<float> host(32);
  float local[32];
  EXPECT_SAYS(violation_of_launch(copy_by_pointers, 1, 32, 0, host.data(), static_cast<float*>(y)),
              "argument 1 is a pointer to the host's memory");
  EXPECT_SAYS(violation_of_launch(copy_by_pointers, 1, 32, 0, static_cast<const float*>(x), local),
              "argument 2 is a pointer to the host's memory");
#ifndef __SANITIZE_ADDRESS__  // which fills padding with such pointers
  EXPECT_SAYS(violation_of_launch(copy_by_struct, 1, 32, 0, Arguments{32, host.data(), y}),
              "argument 1 holds, at byte 8, a pointer to the host's memory");
#endif
  EXPECT_EQ(violation_of_launch(copy_by_struct, 1, 32, 0, Arguments{32, x, y}), "no violation");
  EXPECT_EQ(y.get(stream), first_numbers(32));
  auto* freed = static_cast<float*>(allocate(128));
  release(freed);
  EXPECT_SAYS(violation_of_launch(copy_by_struct, 1, 32, 0, Arguments{32, x, freed}),
              "memory that was freed");
  EXPECT_SAYS(violation_of_launch(copy_by_pointers, 1, 32, 0, static_cast<const float*>(freed),
                                  static_cast<float*>(y)),
              "emulation_test.cpp:");
  const PinnedMemory pinned(128);
  EXPECT_EQ(violation_of_launch(copy_by_pointers, 1, 32, 0, static_cast<const float*>(x), pinned.as<float>()),
            "no violation");
}

struct Pair {
  float a = 0, b = 0;
};
struct ManyMembers {
  bool flag = true;
  Pair pairs[16];
  int count = 16, numbers[16] = {};
  char last = 1;
  float* to = nullptr;
};
__global__ void sum_members(ManyMembers m) {
  float sum = 0;
  for (int i = 0; i < m.count; ++i) sum += m.pairs[i].a + m.pairs[i].b + static_cast<float>(m.numbers[i]);
  *m.to = sum + static_cast<float>(m.flag) + static_cast<float>(m.last);
}

TEST(CudaEmulation, HandsStructuresOverAsTheyAre) {
  const Stream stream;
  const Array<float> sum(size_t{1});
  ManyMembers members;
  for (int i = 0; i < 16; ++i) {
    members.pairs[i] = {1, 2};
    members.numbers[i] = 3;
  }
  members.to = sum;
  launch(sum_members, 1, 1, 0, stream, members);
  EXPECT_EQ(sum.get(stream)[0], 98);
}

__global__ void copy_vectors(const float* x, float* y) {
  store<4>(y + 4 * threadIdx.x, load<4>(x + 4 * threadIdx.x));
}
__global__ void write_beyond(float* y, int count) {
  y[count] = 1;
}
__global__ void write_beyond_shared(float* y) {
  BRIGHTNET_SHARED(float, row, [32]);
  volatile int last = 32;
  row[last] = *y;
}

TEST(CudaEmulation, ChecksEveryAccessByVectors) {
  const Array<float> x(first_numbers(40)), y(size_t{40});
  const float* from = x;
  float* to = y;
  EXPECT_EQ(violation_of_launch(copy_vectors, 1, 10, 0, from, to), "no violation");
  EXPECT_SAYS(violation_of_launch(copy_vectors, 1, 8, 0, from + 1, to), "a load of 16 bytes is not aligned");
  EXPECT_SAYS(violation_of_launch(copy_vectors, 1, 8, 0, from, to + 2), "a store of 16 bytes is not aligned");
  EXPECT_SAYS(violation_of_launch(copy_vectors, 1, 11, 0, from, to), "reaches beyond live device memory");
}

TEST(CudaEmulation, SeesWritesBeyondMemory) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the address sanitizer ends the process at the write itself";
#endif
  const Array<float> y(size_t{3});
  EXPECT_SAYS(violation_of_launch(write_beyond, 1, 1, 0, static_cast<float*>(y), 3),
              "just outside of 12 bytes");
  const float zero = 0;
  const Array<float> x(std::vector<float>{zero});
  EXPECT_SAYS(violation_of_launch(write_beyond_shared, 1, 1, 0, static_cast<float*>(x)),
              "beyond a variable in shared memory");
}

TEST(CudaEmulationDeathTest, TheHostMayNotTouchDeviceMemory) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const Array<float> x(first_numbers(4));
  volatile float* data = static_cast<float*>(x);
  EXPECT_DEATH(data[0] = 1, "the host touched device memory");
}

TEST(CudaEmulation, FreshMemoryIsNan) {
  const Stream stream;
  const Array<float> x(size_t{5});
  for (const float value : x.get(stream)) EXPECT_TRUE(std::isnan(value));
}

__global__ void add_one(float* x) {
  x[threadIdx.x] += 1;
}

TEST(CudaEmulation, RunsQueuedWorkNoEarlierThanNeeded) {
  const Stream stream;
  const Array<float> x(std::vector<float>(8));
  const PinnedMemory result(32);
  int early = 0;
  for (int trial = 0; trial < 20; ++trial) {
    std::fill_n(result.as<float>(), 8, -1.0f);
    launch(add_one, 1, 8, 0, stream, x);
    copy_async(result.data(), x, 32, stream);
    early += result.as<float>()[0] == -1.0f;
    stream.synchronize();
    EXPECT_EQ(result.as<float>()[7], static_cast<float>(trial + 1));
  }
  EXPECT_GT(early, 5) << "reading before synchronising must show";
}

TEST(CudaEmulation, AnEventOrdersTwoStreams) {
  const Array<float> x(std::vector<float>(8));
  std::vector<float> ones(8, 1);
  for (int trial = 0; trial < 20; ++trial) {
    const Stream copies, kernels;
    const Event copied;
    copy_async(x, ones.data(), 32, copies);
    copied.record(copies);
    copied.hold(kernels);
    launch(add_one, 1, 8, 0, kernels, x);
    EXPECT_EQ(x.get(kernels), std::vector<float>(8, 2));
    EXPECT_TRUE(copied.reached());
  }
}

TEST(CudaEmulation, AGraphRepeatsWhatWasCaptured) {
  const Stream stream, side;
  const Event fork, join;
  const Array<float> x(std::vector<float>(8)), y(std::vector<float>(8));
  const Graph graph = Graph::capture(stream, [&] {
    launch(add_one, 1, 8, 0, stream, x);
    fork.record(stream);
    fork.hold(side);
    copy_async(y, x, 32, side);
    join.record(side);
    join.hold(stream);
  });
  EXPECT_EQ(x.get(stream)[0], 0) << "capturing runs nothing";
  for (int i = 0; i < 3; ++i) graph.launch(stream);
  EXPECT_EQ(y.get(stream), std::vector<float>(8, 3));
}

TEST(CudaEmulation, RefusesWhatACaptureCannotHold) {
  const Stream stream, side;
  const Array<float> x(std::vector<float>(8));
  std::vector<float> host(8);
  const auto captured = [&](auto&& work) { return violation_of([&] { Graph::capture(stream, work); }); };
  EXPECT_SAYS(captured([&] { stream.synchronize(); }), "waiting for a stream while a graph is captured");
  EXPECT_SAYS(captured([&] { allocate(16); }), "allocating while a graph is captured");
  EXPECT_SAYS(captured([&] { copy_async(host.data(), x, 32, stream); }), "not pinned");
  const Event fork;
  EXPECT_THROW(Graph::capture(stream,
                              [&] {
                                fork.record(stream);
                                fork.hold(side);
                                launch(add_one, 1, 8, 0, side, x);
                              }),
               DeviceError)
      << "a side stream must be joined";
  EXPECT_EQ(violation_of([&] { stream.synchronize(); }), "no violation");
}

TEST(CudaEmulation, SaysWhatIsFreeWhenMemoryRunsOut) {
  const size_t limit = emulation::device_memory();
  emulation::set_device_memory(emulation::allocated_device_memory() + (20 << 20));
  try {
    allocate(size_t{30} << 20);
    ADD_FAILURE() << "30 MiB fit into 20";
  } catch (const DeviceError& error) {
    EXPECT_SAYS(std::string(error.what()), "no room for 30 MiB: 20 MiB of ");
  }
  emulation::set_device_memory(limit);
}

}  // namespace
}  // namespace brightnet::cuda
