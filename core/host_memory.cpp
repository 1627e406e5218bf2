#include "core/host_memory.h"

#include <algorithm>
#include <cstdint>
#include <fstream>

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

namespace brightnet {
namespace {

/// How many bytes the limit on the process's address space (`ulimit -v`) leaves.
size_t free_address_space() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const size_t used = pages * ::sysconf(_SC_PAGESIZE);
  return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

}  // namespace

size_t free_host_memory(const std::filesystem::path& root) {
  size_t available = 0;
  std::ifstream meminfo(root / "proc/meminfo");
  for (std::string key, rest; meminfo >> key; std::getline(meminfo, rest)) {
    if (key != "MemAvailable:") continue;
    size_t kib = 0;
    meminfo >> kib;
    available = kib * 1024;
    break;
  }
  available = std::min(available, free_address_space());
  size_t limit = 0, used = 0;
  const std::filesystem::path group = root / "sys/fs/cgroup";
  std::ifstream maximum(group / "memory.max"), current(group / "memory.current");
  // "max" (no limit) does not read as a number.
  if (!(maximum >> limit && current >> used)) return available;
  // Cached files count as used and are given up when memory is wanted, as MemAvailable knows.
  size_t cached = 0;
  std::ifstream statistics(group / "memory.stat");
  for (std::string key; statistics >> key && key != "inactive_file";) statistics >> cached;
  if (!(statistics >> cached)) cached = 0;
  used -= std::min(used, cached);
  return std::min(available, limit > used ? limit - used : 0);
}

std::string format_bytes(double bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  while (bytes >= 1024 && unit < 4) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : bytes < 10 ? 2 : 1, units[unit]);
}

}  // namespace brightnet
