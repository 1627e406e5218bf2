#include "core/log.h"

#include <cstddef>
#include <ctime>
#include <iostream>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include <fmt/chrono.h>

#include "core/error.h"
#include "core/file_identity.h"
#include "core/files.h"
#include "core/printable.h"
#include "core/progress_line.h"

namespace brightnet {
namespace {

/// Appends every message to a file. While there is none yet, or that fails (disk full), messages are kept and
/// written before the next one, or when the log ends; the sink has had them. A file that has taken its place gets none
/// of them: it is another run's log, in a folder that was deleted and made again.
class LogFile {
 public:
  void open(std::filesystem::path file) {
    append_to_file(file, "");
    identity_ = identity_of(file);
    file_ = std::move(file);
    write();
  }
  /// Why it cannot be written, when that is the first time; else empty.
  std::string add(std::string_view line) {
    if (unwritten_.size() + line.size() <= most_unwritten) unwritten_.append(line);
    const std::string reason = write();
    return reason.empty() || std::exchange(complained_, true) ? "" : reason;
  }
  /// Empty, or why what is kept could not be written.
  std::string write() {
    if (unwritten_.empty() || file_.empty() || identity_of(file_) != identity_) return "";
    try {
      append_to_file(file_, unwritten_);
      unwritten_.clear();
      return "";
    } catch (const InputError& e) {  // the next message tries again
      return e.what();
    }
  }

 private:
  static constexpr size_t most_unwritten = 1 << 20;
  std::filesystem::path file_;
  std::optional<FileIdentity> identity_;
  std::string unwritten_;
  bool complained_ = false;
};

struct StandardStreams {
  ResultsGo results;

  void operator()(LogLevel level, std::string_view message) const {
    ProgressLine::clear();
    const bool is_output = level == LogLevel::result && results == ResultsGo::to_standard_output;
    // As a whole, since several processes may write to the same terminal.
    (is_output ? std::cout : std::cerr) << fmt::format("{}\n", message) << std::flush;
  }
};

struct Log {
  std::mutex mutex;
  bool on_standard_streams = false;
  LogSink sink;
  std::optional<LogFile> file;
  bool waits_for_file = false;  ///< `file` keeps messages for a name that log_to_file() gives
  std::string prefix;           ///< what messages to the sink begin with
  LogLevel least = LogLevel::result;
};

/// The program's log. It is never destroyed, because objects that are destroyed at the end of the program still log, and needs
/// no allocation, which may be what there is to say.
Log& the_log() {
  alignas(Log) static std::byte place[sizeof(Log)];
  static Log& log = *new (place) Log;
  return log;
}

std::string_view name_of(LogLevel level) {
  switch (level) {
    case LogLevel::result: return "result";
    case LogLevel::info: return "info";
    case LogLevel::warning: return "warning";
    case LogLevel::error: return "error";
  }
  return {};
}

std::string dated(LogLevel level, std::string_view message) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S} {} {}\n", fmt::localtime(std::time(nullptr)), name_of(level),
                     message);
}

}  // namespace

LogSink set_log_sink(LogSink sink) {
  Log& log = the_log();
  const std::lock_guard lock(log.mutex);
  log.on_standard_streams = sink.target<StandardStreams>() != nullptr;
  return std::exchange(log.sink, std::move(sink));
}

LogSink standard_sink(ResultsGo results) {
  return StandardStreams{results};
}

bool logs_to_standard_streams() {
  Log& log = the_log();
  const std::lock_guard lock(log.mutex);
  return log.on_standard_streams;
}

void log_message(LogLevel level, std::string_view text) {
  const std::string message = printable(text);
  Log& log = the_log();
  const std::lock_guard lock(log.mutex);
  if (level < log.least) return;
  if (log.sink) log.sink(level, level == LogLevel::result ? message : log.prefix + message);
  const std::string reason = log.file ? log.file->add(dated(level, message)) : "";
  if (log.sink && !reason.empty()) {
    log.sink(LogLevel::warning,
             log.prefix + reason + " Until it can be written again, messages are kept for this log.");
  }
}

void keep_messages() {
  Log& log = the_log();
  const std::lock_guard lock(log.mutex);
  log.file.emplace();
  log.waits_for_file = true;
}

void log_to_file(const std::filesystem::path& file) {
  Log& log = the_log();
  const std::lock_guard lock(log.mutex);
  if (!log.waits_for_file) log.file.emplace();
  log.waits_for_file = false;
  log.file->open(std::filesystem::absolute(file));
}

void end_log_file(std::string_view error) {
  Log& log = the_log();
  const std::lock_guard lock(log.mutex);
  if (log.file && !error.empty()) log.file->add(dated(LogLevel::error, printable(error)));
  const std::string reason = log.file ? log.file->write() : "";
  if (log.sink && !reason.empty())
    log.sink(LogLevel::warning, log.prefix + reason + " The last messages are not in this log.");
  log.file.reset();
  log.waits_for_file = false;
}

void log_as_rank(std::optional<int> rank) {
  Log& log = the_log();
  const std::lock_guard lock(log.mutex);
  log.prefix = rank ? fmt::format("[{}] ", *rank) : "";
  log.least = rank > 0 ? LogLevel::warning : LogLevel::result;
}

}  // namespace brightnet
