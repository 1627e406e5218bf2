// The memory of a device and of its host that something takes together.
#pragma once

#include "core/require_memory.h"
#include "kernels/device.h"

namespace brightnet {

struct MemoryNeed {
  size_t device = 0;  ///< bytes from Device::allocate()
  size_t host = 0;    ///< bytes of the machine's own memory, beside those
};

/// Throws InputError as core/require_memory.h says. `processes` of this machine take as much each; each has a GPU of
/// its own.
void require_memory(const std::string& what, const MemoryNeed& need, const Device& device,
                    const MemoryRemedy& remedy, int processes = 1);

}  // namespace brightnet
