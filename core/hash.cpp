#include "core/hash.h"

#include <bit>
#include <cstring>

namespace brightnet {
namespace {

static_assert(std::endian::native == std::endian::little, "hashes in files are of little-endian words");

uint64_t mixed(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9E3779B97F4A7C15u;  // 2⁶⁴ / golden ratio, odd
  return hash ^ hash >> 32;
}

}  // namespace

uint64_t hash_bytes(const void* data, size_t bytes, uint64_t before) {
  const auto* at = static_cast<const unsigned char*>(data);
  uint64_t hash = before, word = 0;
  size_t left = bytes;
  for (; left >= sizeof word; left -= sizeof word, at += sizeof word) {
    std::memcpy(&word, at, sizeof word);
    hash = mixed(hash, word);
  }
  if (left > 0) {
    word = 0;
    std::memcpy(&word, at, left);
    hash = mixed(hash, word);
  }
  return mixed(hash, bytes);
}

}  // namespace brightnet
