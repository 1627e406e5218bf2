#include "train/distributed/core_sharing.h"

#include <algorithm>

#include <sched.h>

#include "core/processors.h"
#include "train/distributed/agreement.h"

namespace brightnet {

std::string own_processors(const std::filesystem::path& root) {
  std::string text = host_name() + ':';
  cpu_set_t set;
  // It fails where there are more processors than a cpu_set_t holds: such ranks are taken to be unbound.
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return text;
  if (const auto quota = processor_quota(root); quota && *quota < CPU_COUNT(&set))
    return text + " a quota of " + std::to_string(*quota);
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(processor, &set)) text += ' ' + std::to_string(processor);
  }
  return text;
}

int ranks_sharing_cores(const std::vector<std::string>& processors, int rank) {
  return static_cast<int>(
      std::count(processors.begin(), processors.end(), processors[static_cast<size_t>(rank)]));
}

}  // namespace brightnet
