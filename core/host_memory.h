// How much memory there is, and how amounts of it are written.
#pragma once

#include <cstddef>
#include <string>

namespace brightnet {

/// Bytes that this process may still take from the machine: MemAvailable, or what its control group leaves.
size_t free_host_memory();

/// "1.5 GiB".
std::string format_bytes(double bytes);

}  // namespace brightnet
