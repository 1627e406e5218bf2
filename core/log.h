// The engine's messages. The program that uses the engine says where they go; without a sink they go nowhere. A run's
// train.log has them as well.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "brightnet/log.h"

namespace brightnet {

/// Whether messages go to standard_sink(): a progress line may be rewritten there then.
bool logs_to_standard_streams();

/// Keeps the messages from now on, up to 1 MiB of them, for the file that log_to_file() will name.
void keep_messages();

/// Appends the kept messages and every later one to `file` as well, with a time stamp. Throws InputError when
/// it cannot be written.
void log_to_file(const std::filesystem::path& file);

/// Ends the log file: later messages are written to no file. Warns where what is kept cannot be written. `error`, why the work has ended, is its last line; whoever
/// catches it says it elsewhere.
void end_log_file(std::string_view error = {});

/// The sink's messages but results begin with "[rank]" from now on, and ranks other than 0 log warnings and errors only.
/// Without a rank, all messages are logged as they are.
void log_as_rank(std::optional<int> rank);

/// Logs a message, its control characters made printable; the templates below format one first.
void log_message(LogLevel level, std::string_view message);

namespace log {

template <typename... Values>
void result(fmt::format_string<Values...> format, Values&&... values) {
  log_message(LogLevel::result, fmt::format(format, std::forward<Values>(values)...));
}
template <typename... Values>
void info(fmt::format_string<Values...> format, Values&&... values) {
  log_message(LogLevel::info, fmt::format(format, std::forward<Values>(values)...));
}
template <typename... Values>
void warn(fmt::format_string<Values...> format, Values&&... values) {
  log_message(LogLevel::warning, fmt::format(format, std::forward<Values>(values)...));
}
template <typename... Values>
void error(fmt::format_string<Values...> format, Values&&... values) {
  log_message(LogLevel::error, fmt::format(format, std::forward<Values>(values)...));
}

}  // namespace log
}  // namespace brightnet
