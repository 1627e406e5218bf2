#include "kernels/memory_need.h"

namespace brightnet {

void require_memory(const std::string& what, const MemoryNeed& need, const Device& device,
                    const MemoryRemedy& remedy, int processes) {
  const auto all = static_cast<size_t>(processes);
  const std::string shared =
      processes > 1 ? what + " in each of " + std::to_string(processes) + " processes" : what;
  const FreeMemory free{device.name(), device.free_bytes()};
  if (!device.works_beside_host())
    return require_memory(shared, all * (need.device + need.host), free, remedy);
  require_memory(what, need.device, free, remedy);
  require_memory(shared, all * need.host, free_memory_of_host(), remedy);
}

}  // namespace brightnet
