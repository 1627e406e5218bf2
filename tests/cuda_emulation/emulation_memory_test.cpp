// The emulation's strictness about memory, streams and captured graphs, by kernels and calls that are wrong
// on purpose; and that right ones give the right result.
#include <algorithm>
#include <cmath>
#include <cstring>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "kernels/cuda/vector.h"
#include "tests/cuda_emulation/launch.h"
#include "tests/cuda_emulation/memory.h"
#include "tests/cuda_emulation/violation.h"

namespace brightnet::cuda {
namespace {

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
  const DeviceArray<float> x(first_numbers(32)), y(size_t{32});
  std::vector<float> host(32);
  float local[32];
  EXPECT_SAYS(violation_of_launch(copy_by_pointers, 1, 32, 0, host.data(), static_cast<float*>(y)),
              "argument 1 is a pointer to the host's memory");
  EXPECT_SAYS(violation_of_launch(copy_by_pointers, 1, 32, 0, static_cast<const float*>(x), local),
              "argument 2 is a pointer to the host's memory");
  EXPECT_SAYS(violation_of_launch(copy_by_struct, 1, 32, 0, Arguments{32, host.data(), y}),
              "argument 1 holds, at byte 8, a pointer to the host's memory");
  EXPECT_EQ(violation_of_launch(copy_by_struct, 1, 32, 0, Arguments{32, x, y}), "no violation");
  EXPECT_EQ(y.get(), first_numbers(32));
  auto* freed = static_cast<float*>(allocate(128));
  release(freed);
  EXPECT_SAYS(violation_of_launch(copy_by_struct, 1, 32, 0, Arguments{32, x, freed}),
              "memory that was freed");
  EXPECT_SAYS(violation_of_launch(copy_by_pointers, 1, 32, 0, static_cast<const float*>(freed),
                                  static_cast<float*>(y)),
              "emulation_memory_test.cpp:");
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
  const DeviceArray<float> sum(size_t{1});
  ManyMembers members;
  for (int i = 0; i < 16; ++i) {
    members.pairs[i] = {1, 2};
    members.numbers[i] = 3;
  }
  members.to = sum;
  launch(sum_members, 1, 1, 0, stream, members);
  EXPECT_EQ(sum.get()[0], 98);
}

/// Half of an address that the host has used may be left between a structure's members; beside a zero it looks
/// like one.
TEST(CudaEmulation, TakesNothingBetweenMembersForAPointer) {
  const Stream stream;
  const DeviceArray<float> sum(size_t{1});
  constexpr size_t length = 0xfc00;
  uint32_t half = 0x7e00;
  void* host = MAP_FAILED;
  for (; half > 0x7000; half -= 0x100) {  // somebody, a sanitizer for one, may be there
    host = mmap(reinterpret_cast<void*>(uintptr_t{half} << 32), length, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (host != MAP_FAILED) break;
  }
  ASSERT_NE(host, MAP_FAILED);
  std::memset(host, 0, length);
  alignas(ManyMembers) unsigned char bytes[sizeof(ManyMembers)];
  for (size_t at = 0; at < sizeof bytes; at += sizeof half) std::memcpy(bytes + at, &half, sizeof half);
  auto& members = *new (bytes) ManyMembers;
  members.last = 0;
  members.to = sum;
  EXPECT_EQ(violation_of_launch(sum_members, 1, 1, 0, members), "no violation");
  members.to = static_cast<float*>(host);
  EXPECT_SAYS(violation_of_launch(sum_members, 1, 1, 0, members), "a pointer to the host's memory");
  munmap(host, length);
}

__global__ void copy_vectors(const float* x, float* y) {
  store<4>(y + 4 * threadIdx.x, load<4>(x + 4 * threadIdx.x));
}
__global__ void write_beyond(float* y, int count) {
  y[count] = 1;
}
__global__ void copy_vectors_once(const float* x, float* y) {
  const unsigned first = threadIdx.x * 4;
  store_once<4>(y + first, load_once<4>(x + first));
}
__global__ void write_beyond_shared(float* y) {
  BRIGHTNET_SHARED(float, row, [32]);
  volatile int last = 32;
  row[last] = *y;
}

TEST(CudaEmulation, ChecksEveryAccessByVectors) {
  const DeviceArray<float> x(first_numbers(40)), y(size_t{40});
  const float* from = x;
  float* to = y;
  EXPECT_EQ(violation_of_launch(copy_vectors, 1, 10, 0, from, to), "no violation");
  EXPECT_SAYS(violation_of_launch(copy_vectors, 1, 8, 0, from + 1, to), "a load of 16 bytes is not aligned");
  EXPECT_SAYS(violation_of_launch(copy_vectors, 1, 8, 0, from, to + 2), "a store of 16 bytes is not aligned");
  EXPECT_SAYS(violation_of_launch(copy_vectors, 1, 11, 0, from, to), "reaches beyond live device memory");
  EXPECT_EQ(violation_of_launch(copy_vectors_once, 1, 10, 0, from, to), "no violation");
  EXPECT_EQ(y.get(), x.get());
  EXPECT_SAYS(violation_of_launch(copy_vectors_once, 1, 8, 0, from + 1, to),
              "a load of 16 bytes is not aligned");
  EXPECT_SAYS(violation_of_launch(copy_vectors_once, 1, 8, 0, from, to + 2),
              "a store of 16 bytes is not aligned");
}

TEST(CudaEmulation, SeesWritesBeyondMemory) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the address sanitizer ends the process at the write itself";
#endif
  const DeviceArray<float> y(size_t{3});
  EXPECT_SAYS(violation_of_launch(write_beyond, 1, 1, 0, static_cast<float*>(y), 3),
              "just outside of 12 bytes");
  const float zero = 0;
  const DeviceArray<float> x(std::vector<float>{zero});
  EXPECT_SAYS(violation_of_launch(write_beyond_shared, 1, 1, 0, static_cast<float*>(x)),
              "beyond a variable in shared memory");
}

TEST(CudaEmulationDeathTest, TheHostMayNotTouchDeviceMemory) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const DeviceArray<float> x(first_numbers(4));
  volatile float* data = static_cast<float*>(x);
  EXPECT_DEATH(data[0] = 1, "the host touched device memory");
}

TEST(CudaEmulation, FreshMemoryIsNan) {
  const Stream stream;
  const DeviceArray<float> x(size_t{5});
  for (const float value : x.get()) EXPECT_TRUE(std::isnan(value));
}

__global__ void add_one(float* x) {
  x[threadIdx.x] += 1;
}

TEST(CudaEmulation, RunsQueuedWorkNoEarlierThanNeeded) {
  const Stream stream;
  const DeviceArray<float> x(std::vector<float>(8));
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
  EXPECT_GT(early, 5) << "reading before synchronizing must show";
}

TEST(CudaEmulation, AnEventOrdersTwoStreams) {
  const DeviceArray<float> x(std::vector<float>(8));
  std::vector<float> ones(8, 1);
  for (int trial = 0; trial < 20; ++trial) {
    const Stream copies, kernels;
    const Event copied;
    copy_async(x, ones.data(), 32, copies);
    copied.record(copies);
    copied.hold(kernels);
    launch(add_one, 1, 8, 0, kernels, x);
    EXPECT_EQ(x.get(), std::vector<float>(8, 2));
    EXPECT_TRUE(copied.reached());
  }
}

TEST(CudaEmulation, AGraphRepeatsWhatWasCaptured) {
  const Stream stream, side;
  const Event fork, join;
  const DeviceArray<float> x(std::vector<float>(8)), y(std::vector<float>(8));
  const Graph graph = Graph::capture(stream, [&] {
    launch(add_one, 1, 8, 0, stream, x);
    fork.record(stream);
    fork.hold(side);
    copy_async(y, x, 32, side);
    join.record(side);
    join.hold(stream);
  });
  EXPECT_EQ(x.get()[0], 0) << "capturing runs nothing";
  for (int i = 0; i < 3; ++i) graph.launch(stream);
  EXPECT_EQ(y.get(), std::vector<float>(8, 3));
}

TEST(CudaEmulation, RefusesWhatACaptureCannotHold) {
  const Stream stream, side;
  const DeviceArray<float> x(std::vector<float>(8));
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
