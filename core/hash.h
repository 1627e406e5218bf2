// A number that tells whether bytes are still the same: for damage and differences, not against malice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace brightnet {

/// A 64-bit hash of the bytes, continuing from the hash `before` of preceding bytes. Each word of eight bytes w (the
/// last one filled up with zeros), then the length, goes through h ← (h ⊕ w)·odd, h ← h ⊕ h/2³²: both steps
/// are one-to-one, so bytes that differ within one word always differ in their hash; others do but for one
/// time in 2⁶⁴. Words are little-endian. It runs at the speed of memory, some GB a second.
uint64_t hash_bytes(const void* data, size_t bytes, uint64_t before = 0);
inline uint64_t hash_text(std::string_view text, uint64_t before = 0) {
  return hash_bytes(text.data(), text.size(), before);
}

}  // namespace brightnet
