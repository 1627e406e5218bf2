#include "train/interrupt.h"

#include <csignal>

namespace brightnet {
namespace {

volatile std::sig_atomic_t signal_came = 0;

extern "C" void note_signal(int) {
  signal_came = 1;
  // From now on a signal does what it does to any program.
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

}  // namespace

Interrupt::Interrupt() {
  signal_came = 0;
  std::signal(SIGINT, note_signal);
  std::signal(SIGTERM, note_signal);
}

Interrupt::~Interrupt() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool Interrupt::requested() const {
  return signal_came != 0;
}

}  // namespace brightnet
