// Where one thing ends in a piece of memory and the next may begin.
#pragma once

#include <cstddef>

namespace brightnet {

/// A cache line, and a vector register of AVX-512.
constexpr size_t cache_line = 64;
/// As memory from cudaMalloc is: cuDNN's engines take it for granted of their workspace.
constexpr size_t device_alignment = 256;

/// The smallest multiple of `alignment` that is no less than `size`.
constexpr size_t aligned(size_t size, size_t alignment = cache_line) {
  return (size + alignment - 1) / alignment * alignment;
}

}  // namespace brightnet
