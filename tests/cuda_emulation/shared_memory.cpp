#include "tests/cuda_emulation/shared_memory.h"

#include <algorithm>
#include <string>

#include "tests/cuda_emulation/block.h"

namespace brightnet::emulation {
namespace {

constexpr size_t without_asking = 48 << 10;  ///< of a block; more only for dynamic memory, by opting in
constexpr size_t most_dynamic = 64 << 10;    ///< of compute capability 7.5
constexpr size_t gap = 64;                   ///< between variables
constexpr unsigned char untouched = 0xA5, undefined = 0xFF;

}  // namespace

void SharedMemory::clear(size_t dynamic_bytes) {
  variables_.clear();
  dynamic_bytes_ = used_ = dynamic_bytes;
  end_ = gap + (dynamic_bytes + 15) / 16 * 16;
  if (bytes_.empty()) bytes_.resize(4 * most_dynamic);
  unsigned char* begin = bytes_.data();
  std::fill(begin, begin + gap, untouched);
  std::fill(begin + gap, begin + gap + dynamic_bytes, undefined);
  std::fill(begin + gap + dynamic_bytes, begin + end_ + gap, untouched);
}

void* SharedMemory::variable(const void* key, size_t bytes, size_t alignment) {
  for (const Variable& variable : variables_) {
    if (variable.key == key) return bytes_.data() + variable.offset;
  }
  used_ = (used_ + alignment - 1) / alignment * alignment + bytes;
  const size_t limit = std::max(without_asking, dynamic_bytes_);
  if (used_ > limit) {
    throw Violation("the block's shared memory, " + std::to_string(used_) + " bytes, is over the limit of " +
                    std::to_string(limit));
  }
  const size_t offset = (end_ + gap + 63) / 64 * 64;
  unsigned char* begin = bytes_.data();
  std::fill(begin + end_, begin + offset, untouched);
  std::fill(begin + offset, begin + offset + bytes, undefined);
  end_ = offset + bytes;
  std::fill(begin + end_, begin + end_ + gap, untouched);
  variables_.push_back({key, offset, bytes});
  return begin + offset;
}

void* SharedMemory::dynamic() {
  return bytes_.data() + gap;
}

bool SharedMemory::holds(const void* address, size_t bytes) const {
  const auto* at = static_cast<const unsigned char*>(address);
  const auto inside = [&](size_t offset, size_t length) {
    const unsigned char* begin = bytes_.data() + offset;
    return at >= begin && at + bytes <= begin + length;
  };
  return inside(gap, dynamic_bytes_) ||
         std::any_of(variables_.begin(), variables_.end(),
                     [&](const Variable& v) { return inside(v.offset, v.bytes); });
}

void SharedMemory::check_gaps() const {
  size_t at = 0;
  const auto check_until = [&](size_t end) {
    for (; at < end; ++at) {
      if (bytes_[at] != untouched) throw Violation("the kernel writes beyond a variable in shared memory");
    }
  };
  check_until(gap);
  at += dynamic_bytes_;
  for (const Variable& variable : variables_) {
    check_until(variable.offset);
    at += variable.bytes;
  }
  check_until(at + gap);
}

}  // namespace brightnet::emulation
