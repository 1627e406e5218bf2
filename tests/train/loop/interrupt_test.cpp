#include "train/loop/interrupt.h"

#include <csignal>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace brightnet {
namespace {

bool handled_as(int number, void (*handler)(int)) {
  struct sigaction now {};
  ::sigaction(number, nullptr, &now);
  return now.sa_handler == handler;
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

TEST(Interrupts, AreAskedForByEverySignalThatEndsARunInOrder) {
  for (const int number : {SIGINT, SIGTERM, SIGUSR1, SIGHUP}) {
    const Interrupt interrupt;
    EXPECT_FALSE(interrupt.requested());
    std::raise(number);
    EXPECT_TRUE(interrupt.requested()) << number;
  }
  EXPECT_TRUE(handled_as(SIGHUP, SIG_DFL)) << "as it was before";
}

TEST(Interrupts, EndTheProgramWhenTheyComeTwiceButForHangups) {
  const auto after = [](int first, int second) {
    return end_of_child([&] {
      const Interrupt interrupt;
      std::raise(first);
      std::raise(second);
      return interrupt.requested() ? 4 : 0;
    });
  };
  EXPECT_EQ(after(SIGTERM, SIGTERM), 128 + SIGTERM);
  EXPECT_EQ(after(SIGINT, SIGTERM), 128 + SIGTERM);
  EXPECT_EQ(after(SIGHUP, SIGHUP), 4) << "a terminal and its shell both send one";
  EXPECT_EQ(after(SIGTERM, SIGHUP), 4);
}

TEST(Interrupts, LeaveSignalsIgnoredThatWereIgnored) {
  EXPECT_EQ(end_of_child([] {
              std::signal(SIGHUP, SIG_IGN);  // as nohup does
              std::signal(SIGINT, SIG_IGN);  // as a shell does to a script's background job
              const Interrupt interrupt;
              std::raise(SIGHUP);
              std::raise(SIGINT);
              if (interrupt.requested()) return 1;
              std::raise(SIGTERM);
              std::raise(SIGINT);
              return interrupt.requested() ? 4 : 2;
            }),
            4);
}

TEST(Interrupts, LetARunOutliveWhoReadsItsMessages) {
  EXPECT_EQ(end_of_child([] {
              const Interrupt interrupt;
              int ends[2];
              if (::pipe(ends) != 0) return 1;
              ::close(ends[0]);
              return ::write(ends[1], "x", 1) == -1 && !interrupt.requested() ? 0 : 2;
            }),
            0);
}

}  // namespace
}  // namespace brightnet
