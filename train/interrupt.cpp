#include "train/interrupt.h"

#include <csignal>

namespace brightnet {
namespace {

constexpr int stops[] = {SIGINT, SIGTERM, SIGUSR1};

volatile std::sig_atomic_t signal_came = 0;

extern "C" void note_signal(int) {
  signal_came = 1;
  // From now on a signal does what it does to any program.
  for (const int number : stops) std::signal(number, SIG_DFL);
}

}  // namespace

Interrupt::Interrupt() {
  signal_came = 0;
  for (const int number : stops) std::signal(number, note_signal);
}

Interrupt::~Interrupt() {
  for (const int number : stops) std::signal(number, SIG_DFL);
}

bool Interrupt::requested() const {
  return signal_came != 0;
}

}  // namespace brightnet
