// One logger for the whole program (spdlog): to stderr and, once a run has one, to its train.log.
#pragma once

#include <filesystem>

#include <spdlog/spdlog.h>

namespace brightnet {

/// Keeps the messages from now on, up to 1 MiB of them, for the file that log_to_file() will name.
void keep_messages();

/// Appends the kept messages and every later one to `file` as well, with a time stamp. Throws InputError when
/// it cannot be written.
void log_to_file(const std::filesystem::path& file);

/// Prefixes messages on stderr with "[rank]". Ranks other than 0 log warnings and errors only.
void log_as_rank(int rank);

}  // namespace brightnet
