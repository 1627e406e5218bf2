// How many processors this process may use.
#pragma once

#include <filesystem>
#include <optional>

namespace brightnet {

/// The processors of its affinity or the quota of its control group (`docker run --cpus`), whichever is less;
/// at least 1. A quota of 1.5 processors counts as 2. `root` is the file system's root.
int usable_processors(const std::filesystem::path& root = "/");

/// The processors whose time this process's control groups grant it, by cpu.max (cgroup v2) and
/// cpu.cfs_quota_us (v1) of its own group and those above; nothing where there is no limit. `root` is the
/// file system's root.
std::optional<double> processor_quota(const std::filesystem::path& root = "/");

}  // namespace brightnet
