// One logger for the whole program (spdlog): messages to stderr, and to the run's train.log once there is
// one.
#pragma once

#include <filesystem>

#include <spdlog/spdlog.h>

namespace brightnet {

/// Sends every later message to `file` as well (appending, with the time in front).
void log_to_file(const std::filesystem::path& file);

}  // namespace brightnet
