#include "core/progress_line.h"

#include <cstdlib>
#include <functional>
#include <limits>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/log.h"

namespace brightnet {
namespace {

/// What `work` sends to a terminal of this kind, in a process that has it as its standard error.
std::string sent_to_terminal_by(const std::function<void()>& work, const char* kind,
                                unsigned short columns = 0) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || ::grantpt(terminal) != 0 || ::unlockpt(terminal) != 0) return "no terminal";
  const int screen = ::open(::ptsname(terminal), O_RDWR | O_NOCTTY);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(screen, STDERR_FILENO);
    const winsize size{0, columns, 0, 0};
    ::ioctl(screen, TIOCSWINSZ, &size);
    ::setenv("TERM", kind, 1);
    set_log_sink(standard_sink());
    work();
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  static_cast<void>(
      !::write(screen, "!", 1));  // the end of it: a terminal may hand out what it has in pieces
  std::string sent;
  char words[256];
  for (ssize_t length = 1; length > 0 && !sent.ends_with('!'); sent.append(words, length > 0 ? length : 0))
    length = ::read(terminal, words, sizeof words);
  ::close(screen);
  ::close(terminal);
  return sent;
}

/// What a line shown on a terminal of this kind sends to it.
std::string sent_to_terminal(const char* kind, unsigned short columns = 0, const char* line = "epoch 1/2",
                             const char* message = nullptr) {
  const auto show = [&] {
    ProgressLine progress(100);
    progress.show(line);
    if (message) log::info("{}", message);
  };
  return sent_to_terminal_by(show, kind, columns);
}

TEST(ProgressLine, RewritesItselfOnATerminalThatCan) {
  EXPECT_EQ(sent_to_terminal("xterm").find("\repoch 1/2\x1b[K"), 0u);
  for (const char* kind : {"dumb", ""}) {
    const std::string plain = sent_to_terminal(kind);
    EXPECT_EQ(plain.find('\x1b'), std::string::npos) << kind << plain;
  }
}

// One that wraps could not be rewritten. The last column stays free.
TEST(ProgressLine, IsCutToTheTerminalsWidthInCharacters) {
  EXPECT_EQ(sent_to_terminal("xterm", 10, "epoch 1/200").find("\repoch 1/2\x1b[K"), 0u);
  EXPECT_EQ(sent_to_terminal("xterm", 6, "кошка и собака").find("\rкошка\x1b[K"), 0u);
  EXPECT_EQ(
      sent_to_terminal("xterm", 0, std::string(100, 'x').c_str()).find("\r" + std::string(79, 'x') + "\x1b"),
      0u)
      << "of unknown width: 80";
}

// So that a log line after it begins in an empty one.
TEST(ProgressLine, IsErasedAtItsEnd) {
  EXPECT_NE(sent_to_terminal("xterm").find("epoch 1/2\x1b[K\r\x1b[K"), std::string::npos);
}

TEST(ProgressLine, MakesRoomForMessages) {
  const std::string sent = sent_to_terminal("xterm", 0, "epoch 1/2", "A message.");
  EXPECT_NE(sent.find("epoch 1/2\x1b[K\r\x1b[KA message."), std::string::npos) << sent;
  EXPECT_EQ(sent.find("\x1b[K", sent.find("A message.")), std::string::npos) << "nothing is left to erase";
}

TEST(ProgressLine, WritesTimesAsClocksDo) {
  EXPECT_EQ(format_seconds(123.4), "2:03");
  EXPECT_EQ(format_seconds(3723), "1:02:03");
  EXPECT_EQ(format_seconds(0.4), "0:00");
  EXPECT_EQ(format_seconds(59.6), "1:00") << "rounded";
  EXPECT_EQ(format_seconds(3599.4), "59:59");
  EXPECT_EQ(format_seconds(3599.6), "1:00:00");
}

TEST(ProgressLine, IsDueAfterItsInterval) {
  const LogSink before = set_log_sink({});  // no terminal
  ProgressLine never(1000), always(0);
  EXPECT_FALSE(never.due());
  EXPECT_TRUE(always.due());
  never.show("a line");
  EXPECT_FALSE(never.due());
  for (const double every : {1e12, static_cast<double>(std::numeric_limits<float>::max())})
    EXPECT_FALSE(ProgressLine(every).due()) << every << " s are more than the clock can count";
  set_log_sink(before);
}

// Its line is rewritten five times a second, however often log lines are wanted.
TEST(ProgressLine, OnATerminalTheIntervalOfLogLinesDoesNotMatter) {
  const auto look = [] {
    if (ProgressLine(1e9).due()) log::info("The first line is due.");
    ProgressLine always(0);
    for (int tries = 0; tries < 20; ++tries) {  // a busy machine may take as long between these two
      always.show("x");
      if (always.due()) continue;
      log::info("The next one is not.");
      break;
    }
  };
  const std::string sent = sent_to_terminal_by(look, "xterm");
  EXPECT_NE(sent.find("The first line is due."), std::string::npos) << sent;
  EXPECT_NE(sent.find("The next one is not."), std::string::npos) << sent;
}

}  // namespace
}  // namespace brightnet
