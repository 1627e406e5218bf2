// CUDA's device language for the host compiler: what a kernel source sees instead of nvcc's built-ins. A
// block's threads are fibers on one host thread (tests/cuda_emulation/block.h); a barrier, shuffle or vote
// synchronizes them. Between two such points a thread runs uninterrupted; the order of threads and blocks
// differs from launch to launch, so that a missing barrier shows in the result.
//
// It is strict. Each of these ends the kernel with a Violation that names the launch (file:line) and the
// threads: a barrier that not every live thread reaches, a lane read that takes no part, a launch over the
// limits of compute capability 7.5, a host pointer or freed memory handed to a kernel, a misaligned access,
// writing beyond an allocation.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <vector>

#include <cuda_runtime.h>

#include "kernels/traffic.h"

#define __launch_bounds__(...)

extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;

namespace brightnet::emulation {

using Where = std::source_location;

// Launches (tests/cuda_emulation/launch.cpp).

struct LaunchSize {
  dim3 grid, block;
  size_t shared_bytes = 0;
};

/// A kernel's argument as bytes: every pointer in it is checked. What lies between a structure's members is
/// whatever was there before, old pointers too: `values` has zeros there, and bits where there are members.
struct ArgumentBytes {
  const void* data;
  const unsigned char* values;
  size_t bytes;
  bool is_pointer;
};

/// Asks the compiler where a type has no members. It is asked about a pattern and not to clean the argument
/// itself, and by a union: otherwise g++ 12 forgets an array of structures when it counts how far it has come.
template <typename T>
const unsigned char* value_bytes() {
  union OnlyMember {
    T value;
  };
  struct alignas(T) Pattern {
    unsigned char bytes[sizeof(T)];
  };
  static const Pattern pattern = [] {
    Pattern all;
    std::memset(all.bytes, 0xFF, sizeof all.bytes);
    __builtin_clear_padding(reinterpret_cast<OnlyMember*>(all.bytes));
    return all;
  }();
  return pattern.bytes;
}

void queue_launch(const LaunchSize& size, cudaStream_t stream, const Where& where, const Traffic* traffic,
                  const void* kernel, std::function<void()> thread,
                  std::function<std::vector<ArgumentBytes>()> arguments);

/// Queues a launch; the arguments are copied now and checked when the kernel runs, since memory may be freed
/// in between.
template <typename... Parameters>
void launch(void (*kernel)(Parameters...), const dim3& grid, const dim3& block, size_t shared_bytes,
            cudaStream_t stream, const Where& where, const Traffic* traffic,
            const std::type_identity_t<Parameters>&... arguments) {
  static_assert((std::is_trivially_copyable_v<Parameters> && ...),
                "a kernel's arguments are copied as bytes");
  const auto copies = std::make_shared<std::tuple<Parameters...>>(arguments...);
  queue_launch(
      {grid, block, shared_bytes}, stream, where, traffic, reinterpret_cast<const void*>(kernel),
      [kernel, copies] { std::apply(kernel, *copies); },
      [copies] {
        return std::apply(
            [](const Parameters&... argument) {
              return std::vector<ArgumentBytes>{
                  {&argument, value_bytes<Parameters>(), sizeof argument, std::is_pointer_v<Parameters>}...};
            },
            *copies);
      });
}

// Shared memory (tests/cuda_emulation/block.cpp).

/// The block's variable that belongs to `key`; made at its first use in a block, full of bytes 0xFF.
void* shared_variable(const void* key, size_t bytes, size_t alignment);
/// The block's dynamic shared memory.
void* dynamic_shared_memory();

template <typename T, typename Key>
T& shared_variable() {
  static const char key = 0;
  return *static_cast<T*>(shared_variable(&key, sizeof(T), alignof(T)));
}

// Synchronization points (tests/cuda_emulation/block.cpp).

enum class BlockVote : uint8_t { none, any, all, count };
int meet_block(BlockVote vote, bool predicate, const Where& where);
/// The value of lane `source`; synchronizes the lanes of the mask.
uint64_t meet_warp(const char* operation, unsigned mask, uint64_t value, int source, const Where& where);
/// Bit i: the predicate of lane i of the mask.
unsigned meet_ballot(const char* operation, unsigned mask, bool predicate, const Where& where);
int current_lane();

/// Every access that goes through this is checked: aligned to its size, and in live device or shared memory.
void check_access(const void* address, size_t bytes, const char* what);

/// The lane that a shuffle within segments of `width` lanes reads.
enum class Shuffle : uint8_t { index, up, down, exclusive_or };
int shuffle_source(Shuffle shuffle, int lane, int argument, int width);

template <typename T>
T exchange(const char* operation, Shuffle shuffle, unsigned mask, T value, int argument, int width,
           const Where& where) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>, "lanes exchange up to eight bytes");
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = meet_warp(operation, mask, bits, shuffle_source(shuffle, current_lane(), argument, width), where);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <typename T, typename Update>
T update_atomically(T* address, Update&& update) {
  check_access(address, sizeof(T), "atomic access");
  const T old = *address;
  *address = update(old);
  return old;
}

}  // namespace brightnet::emulation

inline void __syncthreads(const brightnet::emulation::Where& where = std::source_location::current()) {
  brightnet::emulation::meet_block(brightnet::emulation::BlockVote::none, false, where);
}
inline int __syncthreads_or(int predicate,
                            const brightnet::emulation::Where& where = std::source_location::current()) {
  return brightnet::emulation::meet_block(brightnet::emulation::BlockVote::any, predicate != 0, where);
}
inline int __syncthreads_and(int predicate,
                             const brightnet::emulation::Where& where = std::source_location::current()) {
  return brightnet::emulation::meet_block(brightnet::emulation::BlockVote::all, predicate != 0, where);
}
inline int __syncthreads_count(int predicate,
                               const brightnet::emulation::Where& where = std::source_location::current()) {
  return brightnet::emulation::meet_block(brightnet::emulation::BlockVote::count, predicate != 0, where);
}
inline void __syncwarp(unsigned mask = 0xffffffffu,
                       const brightnet::emulation::Where& where = std::source_location::current()) {
  brightnet::emulation::meet_ballot("__syncwarp", mask, false, where);
}

template <typename T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32,
              const brightnet::emulation::Where& where = std::source_location::current()) {
  return brightnet::emulation::exchange("__shfl_sync", brightnet::emulation::Shuffle::index, mask, value,
                                        source, width, where);
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned distance, int width = 32,
                 const brightnet::emulation::Where& where = std::source_location::current()) {
  return brightnet::emulation::exchange("__shfl_up_sync", brightnet::emulation::Shuffle::up, mask, value,
                                        static_cast<int>(distance), width, where);
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned distance, int width = 32,
                   const brightnet::emulation::Where& where = std::source_location::current()) {
  return brightnet::emulation::exchange("__shfl_down_sync", brightnet::emulation::Shuffle::down, mask, value,
                                        static_cast<int>(distance), width, where);
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32,
                  const brightnet::emulation::Where& where = std::source_location::current()) {
  return brightnet::emulation::exchange("__shfl_xor_sync", brightnet::emulation::Shuffle::exclusive_or, mask,
                                        value, lanes, width, where);
}
inline unsigned __ballot_sync(unsigned mask, int predicate,
                              const brightnet::emulation::Where& where = std::source_location::current()) {
  return brightnet::emulation::meet_ballot("__ballot_sync", mask, predicate != 0, where);
}
inline int __any_sync(unsigned mask, int predicate,
                      const brightnet::emulation::Where& where = std::source_location::current()) {
  return brightnet::emulation::meet_ballot("__any_sync", mask, predicate != 0, where) != 0;
}
inline int __all_sync(unsigned mask, int predicate,
                      const brightnet::emulation::Where& where = std::source_location::current()) {
  return brightnet::emulation::meet_ballot("__all_sync", mask, predicate == 0, where) == 0;
}

// Blocks run one after the other and a thread runs undisturbed: plain accesses are in order.
inline void __threadfence() {}
inline void __threadfence_block() {}

template <typename T>
T __ldg(const T* address) {
  brightnet::emulation::check_access(address, sizeof(T), "load");
  return *address;
}

// Hints to the caches, of which there are none.
template <typename T>
T __ldcs(const T* address) {
  return __ldg(address);
}
template <typename T>
void __stcs(T* address, std::type_identity_t<T> value) {
  brightnet::emulation::check_access(address, sizeof(T), "store");
  *address = value;
}

#define BRIGHTNET_ATOMIC(name, expression)                                                           \
  template <typename T>                                                                              \
  T name(T* address, std::type_identity_t<T> value) {                                                \
    return brightnet::emulation::update_atomically(address, [&](T old) -> T { return expression; }); \
  }
BRIGHTNET_ATOMIC(atomicAdd, old + value)
BRIGHTNET_ATOMIC(atomicSub, old - value)
BRIGHTNET_ATOMIC(atomicExch, (static_cast<void>(old), value))
BRIGHTNET_ATOMIC(atomicMin, value < old ? value : old)
BRIGHTNET_ATOMIC(atomicMax, old < value ? value : old)
BRIGHTNET_ATOMIC(atomicAnd, old& value)
BRIGHTNET_ATOMIC(atomicOr, old | value)
BRIGHTNET_ATOMIC(atomicXor, old ^ value)
BRIGHTNET_ATOMIC(atomicInc, old >= value ? T(0) : old + 1)
#undef BRIGHTNET_ATOMIC
template <typename T>
T atomicCAS(T* address, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  return brightnet::emulation::update_atomically(address,
                                                 [&](T old) { return old == expected ? value : old; });
}

// Numbers.
template <typename T>
constexpr T min(T a, T b) {
  return b < a ? b : a;
}
template <typename T>
constexpr T max(T a, T b) {
  return a < b ? b : a;
}
inline int __popc(unsigned bits) {
  return std::popcount(bits);
}
inline int __clz(int bits) {
  return std::countl_zero(static_cast<unsigned>(bits));
}
inline int __ffs(int bits) {
  return bits == 0 ? 0 : std::countr_zero(static_cast<unsigned>(bits)) + 1;
}
inline float __uint_as_float(unsigned bits) {
  return std::bit_cast<float>(bits);
}
inline unsigned __float_as_uint(float value) {
  return std::bit_cast<unsigned>(value);
}
inline float __int_as_float(int bits) {
  return std::bit_cast<float>(bits);
}
inline int __float_as_int(float value) {
  return std::bit_cast<int>(value);
}
