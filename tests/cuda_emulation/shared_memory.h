// A block's shared memory: fresh for each block, with a gap around each variable that shows writes beyond it.
#pragma once

#include <cstddef>
#include <vector>

namespace brightnet::emulation {

class SharedMemory {
 public:
  /// For a new block. What a variable holds at first is undefined: bytes that make NaNs.
  void clear(size_t dynamic_bytes);
  /// The variable that `key` names, made where it is new. Throws Violation over the limit of a block.
  void* variable(const void* key, size_t bytes, size_t alignment);
  void* dynamic();
  /// Whether the address lies in the block's shared memory, in a variable or a gap.
  bool around(const void* address) const {
    return address >= bytes_.data() && address < bytes_.data() + bytes_.size();
  }
  /// Whether the bytes lie inside one variable.
  bool holds(const void* address, size_t bytes) const;
  /// Throws Violation when a gap was written to.
  void check_gaps() const;

 private:
  struct Variable {
    const void* key;
    size_t offset, bytes;
  };
  std::vector<unsigned char> bytes_;
  std::vector<Variable> variables_;
  size_t dynamic_bytes_ = 0;
  size_t end_ = 0;   ///< of the last variable
  size_t used_ = 0;  ///< what the block would take on a GPU
};

}  // namespace brightnet::emulation
