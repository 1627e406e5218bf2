#include "core/require_memory.h"

#include "core/error.h"
#include "core/host_memory.h"

namespace brightnet {

FreeMemory free_memory_of_host() {
  return {"", free_host_memory()};
}

void require_memory(const std::string& what, size_t bytes, const FreeMemory& free,
                    const MemoryRemedy& remedy) {
  if (bytes <= free.bytes) return;
  const std::string place = free.place.empty() ? "" : " on " + free.place;
  throw InputError("there is not enough memory" + place + ": " + what + " takes " +
                       format_bytes(static_cast<double>(bytes)) + ", and " +
                       format_bytes(static_cast<double>(free.bytes)) + ' ' + free.words,
                   "", remedy());
}

}  // namespace brightnet
