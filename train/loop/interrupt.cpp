#include "train/loop/interrupt.h"

#include <csignal>
#include <iterator>

namespace brightnet {
namespace {

constexpr int stops[] = {SIGINT, SIGTERM, SIGUSR1, SIGHUP};

volatile std::sig_atomic_t signal_came = 0;
struct sigaction before[std::size(stops)], pipe_before;

bool ignored_before(size_t i) {
  return before[i].sa_handler == SIG_IGN;
}

extern "C" void note_signal(int number) {
  signal_came = 1;
  if (number == SIGHUP) return;
  // The next signal has its default action.
  for (size_t i = 0; i < std::size(stops); ++i) {
    if (stops[i] != SIGHUP && !ignored_before(i)) std::signal(stops[i], SIG_DFL);
  }
}

}  // namespace

Interrupt::Interrupt() {
  signal_came = 0;
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

Interrupt::~Interrupt() {
  for (size_t i = 0; i < std::size(stops); ++i) ::sigaction(stops[i], &before[i], nullptr);
  ::sigaction(SIGPIPE, &pipe_before, nullptr);
}

bool Interrupt::requested() const {
  return signal_came != 0;
}

}  // namespace brightnet
