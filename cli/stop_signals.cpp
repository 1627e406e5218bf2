#include "cli/stop_signals.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <iterator>
#include <system_error>

#include <semaphore.h>

#include "core/progress_line.h"

namespace brightnet::cli {
namespace {

constexpr int stops[] = {SIGINT, SIGTERM, SIGUSR1, SIGHUP};

/// A signal may interrupt any thread.
std::atomic<bool> signal_came = false;
static_assert(std::atomic<bool>::is_always_lock_free, "signal handlers use it");
struct sigaction before[std::size(stops)], pipe_before;
/// Posted by a signal, and when there is none to wait for any more.
sem_t wake;

bool ignored_before(size_t i) {
  return before[i].sa_handler == SIG_IGN;
}

extern "C" void note_signal(int number) {
  const int saved = errno;
  signal_came = true;
  ::sem_post(&wake);
  errno = saved;
  if (number == SIGHUP) return;
  // The next signal ends the program.
  for (size_t i = 0; i < std::size(stops); ++i) {
    if (stops[i] != SIGHUP && !ignored_before(i)) ::sigaction(stops[i], &before[i], nullptr);
  }
}

/// The action for this signal is the default again, and is taken when this returns.
extern "C" void erase_progress_line(int number) {
  ProgressLine::clear();
  ::raise(number);
}

}  // namespace

void leave_no_progress_line() {
  struct sigaction erase {};
  erase.sa_handler = erase_progress_line;
  erase.sa_flags = static_cast<int>(SA_RESETHAND);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now {};
    ::sigaction(number, nullptr, &now);
    if (now.sa_handler == SIG_DFL) ::sigaction(number, &erase, nullptr);
  }
}

StopSignals::StopSignals() {
  signal_came = false;
  if (::sem_init(&wake, 0, 0) != 0) throw std::system_error(errno, std::generic_category(), "sem_init");
  relay_ = std::thread([this] {
    while (::sem_wait(&wake) != 0) {
    }
    if (signal_came) source_.request_stop();
  });
  struct sigaction note {};
  note.sa_handler = note_signal;
  note.sa_flags = SA_RESTART;
  for (size_t i = 0; i < std::size(stops); ++i) {
    ::sigaction(stops[i], nullptr, &before[i]);
    if (!ignored_before(i)) ::sigaction(stops[i], &note, nullptr);
  }
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &pipe_before);
}

StopSignals::~StopSignals() {
  for (size_t i = 0; i < std::size(stops); ++i) ::sigaction(stops[i], &before[i], nullptr);
  ::sigaction(SIGPIPE, &pipe_before, nullptr);
  ::sem_post(&wake);
  relay_.join();
  ::sem_destroy(&wake);
}

}  // namespace brightnet::cli
