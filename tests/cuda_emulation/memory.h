// The emulated GPU's memory: part of the process's, but open only while the GPU works. Fresh memory is
// full of bytes 0xFF (NaN in every type); freed memory is closed for good, and its addresses are not
// given out again.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tests/cuda_emulation/device.h"

namespace brightnet::emulation {

/// nullptr when the GPU has no more: see set_device_memory().
void* allocate_device(size_t bytes);
/// False when this is no live allocation.
bool release_device(void* memory);
void* allocate_pinned(size_t bytes);
bool release_pinned(void* memory);

/// How much memory the GPU has from now on.
void set_device_memory(size_t bytes);
size_t device_memory();
size_t allocated_device_memory();

/// The live allocation that an address lies in; null for none.
struct DeviceRange {
  unsigned char* data = nullptr;
  size_t bytes = 0;
};
DeviceRange device_range(const void* address);
bool is_device(const void* address, size_t bytes);
/// Whether device memory lies there, lay there, or may come to lie there.
bool is_device_space(const void* address);
bool is_pinned(const void* address, size_t bytes);
/// Whether a kernel may use it: in one live allocation of either kind.
inline bool is_device_accessible(const void* address, size_t bytes) {
  return is_device(address, bytes) || is_pinned(address, bytes);
}
/// What lies at an address: "freed device memory", "16 bytes before the end of 64 bytes of device memory" ...
std::string describe_address(const void* address);

/// Device memory is open to the process while one of these lives; otherwise touching it ends the process.
class OpenMemory {
 public:
  OpenMemory();
  ~OpenMemory();
  OpenMemory(const OpenMemory&) = delete;
  OpenMemory& operator=(const OpenMemory&) = delete;
};

/// Throws a Violation when bytes around an allocation were written.
void check_margins();
/// Throws a Violation when an argument is, or holds, an address that no kernel may use.
void check_arguments(const std::vector<ArgumentBytes>& arguments);

/// The contents of all device and pinned memory, to go back to and to compare with.
struct Snapshot {
  struct Part {
    unsigned char* at;
    std::vector<unsigned char> bytes;
  };
  std::vector<Part> parts;

  static Snapshot take();
  void restore() const;
  /// The first byte that is not the same now, or nullptr.
  const void* first_difference() const;
};

}  // namespace brightnet::emulation
