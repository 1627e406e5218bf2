// Alignment of memory, and rounding sizes up to it.
#pragma once

#include <cstddef>

namespace brightnet {

/// The size of a cache line and of an AVX-512 register, in bytes.
constexpr size_t cache_line = 64;
/// The alignment of memory from cudaMalloc, which cuDNN's engines require of their workspace.
constexpr size_t device_alignment = 256;

/// `size` rounded up to a multiple of `alignment`.
constexpr size_t aligned(size_t size, size_t alignment = cache_line) {
  return (size + alignment - 1) / alignment * alignment;
}

}  // namespace brightnet
