#include "cli/stop_signals.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/log.h"
#include "core/progress_line.h"

namespace brightnet::cli {
namespace {

bool handled_as(int number, void (*handler)(int)) {
  struct sigaction now {};
  ::sigaction(number, nullptr, &now);
  return now.sa_handler == handler;
}

/// Whether the signal that was raised becomes a request, which takes a thread's turn.
bool request_comes(const StopSignals& signals) {
  for (int i = 0; i < 2000 && !signals.received(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  return signals.token().stop_requested();
}

/// What comes to the terminal: this many bytes, or fewer if nothing comes for ten seconds. The kernel passes
/// on what a child wrote in its own time and in parts, also after the child's end.
std::string shown_at(int terminal, size_t bytes) {
  std::string words;
  pollfd arrival{terminal, POLLIN, 0};
  char part[64];
  while (words.size() < bytes && ::poll(&arrival, 1, 10'000) > 0) {
    const ssize_t length = ::read(terminal, part, sizeof part);
    if (length <= 0) break;
    words.append(part, static_cast<size_t>(length));
  }
  return words;
}

/// How a child that does this ends: its exit code, or 128 and the signal.
template <typename Work>
int end_of_child(const Work& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(StopSignals, AreThoseThatEndARunInOrder) {
  for (const int number : {SIGINT, SIGTERM, SIGUSR1, SIGHUP}) {
    const StopSignals signals;
    EXPECT_FALSE(signals.received());
    std::raise(number);
    EXPECT_TRUE(request_comes(signals)) << number;
  }
  EXPECT_TRUE(handled_as(SIGHUP, SIG_DFL)) << "as it was before";
}

TEST(StopSignals, LeaveNoProgressLineWhenTheyEndTheProgram) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_TRUE(terminal >= 0 && ::grantpt(terminal) == 0 && ::unlockpt(terminal) == 0);
  const int screen = ::open(::ptsname(terminal), O_RDWR | O_NOCTTY);
  for (const bool running : {false, true}) {
    const int end = end_of_child([&] {
      ::dup2(screen, STDERR_FILENO);
      ::setenv("TERM", "xterm", 1);
      set_log_sink(standard_sink());
      leave_no_progress_line();
      std::optional<StopSignals> signals;
      if (running) signals.emplace();
      ProgressLine line(100);
      line.show("epoch 1/2");
      std::raise(SIGINT);
      if (running) std::raise(SIGINT);  // the first is a request
      return 0;
    });
    EXPECT_EQ(end, 128 + SIGINT) << running;
    const std::string cleared = "\repoch 1/2\x1b[K\r\x1b[K";
    EXPECT_EQ(shown_at(terminal, cleared.size()), cleared) << running;
  }
  ::close(screen);
  ::close(terminal);
}

TEST(StopSignals, EndTheProgramWhenTheyComeTwiceButForHangups) {
  const auto after = [](int first, int second) {
    return end_of_child([&] {
      const StopSignals signals;
      std::raise(first);
      std::raise(second);
      return request_comes(signals) ? 4 : 0;
    });
  };
  EXPECT_EQ(after(SIGTERM, SIGTERM), 128 + SIGTERM);
  EXPECT_EQ(after(SIGINT, SIGTERM), 128 + SIGTERM);
  EXPECT_EQ(after(SIGHUP, SIGHUP), 4) << "a terminal and its shell both send one";
  EXPECT_EQ(after(SIGTERM, SIGHUP), 4);
}

TEST(StopSignals, LeaveSignalsIgnoredThatWereIgnored) {
  EXPECT_EQ(end_of_child([] {
              std::signal(SIGHUP, SIG_IGN);  // as nohup does
              std::signal(SIGINT, SIG_IGN);  // as a shell does to a script's background job
              const StopSignals signals;
              std::raise(SIGHUP);
              std::raise(SIGINT);
              if (signals.received()) return 1;
              std::raise(SIGTERM);
              std::raise(SIGINT);
              return request_comes(signals) ? 4 : 2;
            }),
            4);
}

TEST(StopSignals, LetARunOutliveWhoReadsItsMessages) {
  EXPECT_EQ(end_of_child([] {
              const StopSignals signals;
              int ends[2];
              if (::pipe(ends) != 0) return 1;
              ::close(ends[0]);
              return ::write(ends[1], "x", 1) == -1 && !signals.received() ? 0 : 2;
            }),
            0);
}

}  // namespace
}  // namespace brightnet::cli
