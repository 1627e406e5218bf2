// Whether something large fits, before any of it is allocated: most systems promise more memory than there is and kill
// the process that uses it, so that nothing could be reported then.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace brightnet {

struct FreeMemory {
  std::string place;  ///< name of the device; empty: this machine
  size_t bytes = 0;
  std::string words = "are free";
};

/// The free memory of this machine (core/host_memory.h).
FreeMemory free_memory_of_host();

/// Says what the user can do. It is called only when something does not fit.
using MemoryRemedy = std::function<std::string()>;

/// Throws InputError with both figures when `what` ("a batch of 8 images") takes more than is free.
void require_memory(const std::string& what, size_t bytes, const FreeMemory& free,
                    const MemoryRemedy& remedy);

}  // namespace brightnet
