#include "core/processors.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

#include <sched.h>
#include <unistd.h>

namespace brightnet {
namespace {

namespace fs = std::filesystem;

/// The quota of one control group, if it has one. "max" does not read as a number and −1 is not positive: no limit.
std::optional<double> quota_of(const fs::path& group) {
  double quota = 0, period = 0;
  std::ifstream version2(group / "cpu.max");
  if (version2 >> quota >> period && quota > 0 && period > 0) return quota / period;
  std::ifstream limit(group / "cpu.cfs_quota_us"), time(group / "cpu.cfs_period_us");
  if (limit >> quota && time >> period && quota > 0 && period > 0) return quota / period;
  return std::nullopt;
}

/// Whether a list such as "cpu,cpuacct" has the processors' controller.
bool controls_processors(const std::string& controllers) {
  return (',' + controllers + ',').find(",cpu,") != std::string::npos;
}

int processors_of_affinity() {
  cpu_set_t set;
  // sched_getaffinity() fails where there are more processors than a cpu_set_t holds.
  const long count =
      ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : ::sysconf(_SC_NPROCESSORS_ONLN);
  return static_cast<int>(std::max(1L, count));
}

}  // namespace

std::optional<double> processor_quota(const fs::path& root) {
  std::optional<double> least;
  std::ifstream groups(root / "proc/self/cgroup");
  // "0::/user.slice" in version 2, "4:cpu,cpuacct:/docker/1f3c" in version 1.
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && !controls_processors(controllers)) continue;
    const fs::path mount = root / (controllers.empty() ? "sys/fs/cgroup" : "sys/fs/cgroup/cpu");
    // In a container the path may be the host's, of which only the root is visible.
    for (fs::path group = fs::path(line.substr(second + 1)).relative_path();; group = group.parent_path()) {
      if (const auto quota = quota_of(mount / group)) least = std::min(least.value_or(*quota), *quota);
      if (group.empty()) break;
    }
  }
  return least;
}

int usable_processors(const fs::path& root) {
  const int processors = processors_of_affinity();
  const auto quota = processor_quota(root);
  return quota ? std::clamp(static_cast<int>(std::ceil(std::min(*quota, 1e6))), 1, processors) : processors;
}

}  // namespace brightnet
