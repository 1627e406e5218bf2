// One logger for the whole program (spdlog): messages to stderr, and to the run's train.log once there
// is one.
#pragma once

#include <filesystem>

#include <spdlog/spdlog.h>

namespace brightnet {

/// Sends every later message to `file` as well (appending, with the time in front). Throws InputError when it
/// cannot be written.
void log_to_file(const std::filesystem::path& file);

/// Puts "[rank]" in front of every message on stderr. Ranks other than 0 give warnings and errors only.
void log_as_rank(int rank);

}  // namespace brightnet
