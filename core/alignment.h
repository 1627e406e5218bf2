// Alignment of memory, and rounding sizes up to it.
#pragma once

#include <cstddef>

namespace brightnet {

/// A cache line, and a vector register of AVX-512.
constexpr size_t cache_line = 64;
/// Of memory from cudaMalloc; cuDNN's engines require it of their workspace.
constexpr size_t device_alignment = 256;

/// `size` rounded up to a multiple of `alignment`.
constexpr size_t aligned(size_t size, size_t alignment = cache_line) {
  return (size + alignment - 1) / alignment * alignment;
}

}  // namespace brightnet
