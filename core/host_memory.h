// Available host memory, and the text form of byte counts.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace brightnet {

/// Bytes that this process can still allocate: the least of MemAvailable and what its cgroup and `ulimit -v`
/// leave. `root` is the file system's root.
size_t free_host_memory(const std::filesystem::path& root = "/");

/// A number of bytes as text: "1.5 GiB".
std::string format_bytes(double bytes);

}  // namespace brightnet
