#include "core/progress_line.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <sys/ioctl.h>
#include <unistd.h>

#include "core/log.h"
#include "core/printable.h"

namespace brightnet {
namespace {

/// The terminal's, whose lines come from whatever shows its progress, and messages from any thread.
std::atomic<bool> line_is_open = false;
static_assert(std::atomic<bool>::is_always_lock_free, "signal handlers use it");

/// In seconds. A longer one, which asks for no lines, would not fit into the clock's nanoseconds.
constexpr double longest_interval = 1e9;

int terminal_columns() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

/// Whether standard error is a terminal that can erase a line.
bool can_rewrite_lines() {
  const char* kind = std::getenv("TERM");
  return logs_to_standard_streams() && ::isatty(STDERR_FILENO) == 1 && kind && *kind != '\0' &&
         std::string_view(kind) != "dumb";
}

// A line that wraps cannot be rewritten, so it is cut to the terminal's width, in characters (not bytes).
std::string cut(const std::string& line, int columns) {
  int characters = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    if ((static_cast<unsigned char>(line[i]) & 0xC0u) == 0x80u) continue;
    if (++characters == columns) return line.substr(0, i);
  }
  return line;
}

}  // namespace

ProgressLine::ProgressLine(double every)
    : terminal_(can_rewrite_lines()),
      every_(std::chrono::duration_cast<Clock::duration>(
          std::chrono::duration<double>(terminal_ ? 0.2 : std::min(every, longest_interval)))),
      shown_(terminal_ ? Clock::time_point{} : Clock::now()) {}

ProgressLine::~ProgressLine() {
  clear();
}

bool ProgressLine::due() const {
  return Clock::now() - shown_ >= every_;
}

void ProgressLine::show(const std::string& line) {
  shown_ = Clock::now();
  if (!terminal_) {
    log::info("{}", line);
    return;
  }
  line_is_open = true;  // first, for a signal that comes in between
  std::fprintf(stderr, "\r%s\x1b[K", cut(printable(line), terminal_columns()).c_str());
}

void ProgressLine::clear() {
  if (!line_is_open.exchange(false)) return;
  constexpr std::string_view erase = "\r\x1b[K";
  static_cast<void>(!::write(STDERR_FILENO, erase.data(), erase.size()));  // stderr has no buffer
}

std::string format_seconds(double seconds) {
  const auto all = static_cast<long long>(seconds + 0.5);
  char text[48];
  if (all >= 3600) {
    std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", all / 3600, all / 60 % 60, all % 60);
  } else {
    std::snprintf(text, sizeof text, "%lld:%02lld", all / 60, all % 60);
  }
  return text;
}

}  // namespace brightnet
