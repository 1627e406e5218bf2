#include "core/host_memory.h"

#include <algorithm>
#include <cstdio>
#include <fstream>

namespace brightnet {

size_t free_host_memory() {
  size_t available = 0;
  std::ifstream meminfo("/proc/meminfo");
  for (std::string key, rest; meminfo >> key; std::getline(meminfo, rest)) {
    if (key != "MemAvailable:") continue;
    size_t kib = 0;
    meminfo >> kib;
    available = kib * 1024;
    break;
  }
  size_t limit = 0, used = 0;
  std::ifstream maximum("/sys/fs/cgroup/memory.max"), current("/sys/fs/cgroup/memory.current");
  // "max" (no limit) does not read as a number.
  if (maximum >> limit && current >> used) available = std::min(available, limit > used ? limit - used : 0);
  return available;
}

std::string format_bytes(double bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  while (bytes >= 1024 && unit < 4) {
    bytes /= 1024;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text,
                unit == 0    ? "%.0f %s"
                : bytes < 10 ? "%.2f %s"
                             : "%.1f %s",
                bytes, units[unit]);
  return text;
}

}  // namespace brightnet
