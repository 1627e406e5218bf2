#include "cli/stop_signals.h"

#include <chrono>
#include <csignal>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

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
