// Ctrl-C and a scheduler's SIGTERM end a run in order: the step that runs is finished and the state is saved.
// A second signal ends the program at once. SIGUSR1 asks for the same: mpirun passes it on to all ranks and
// leaves them their time, whereas it answers the other two by killing them within two seconds.
#pragma once

namespace brightnet {

/// Listens for SIGINT, SIGTERM and SIGUSR1 while it lives; one at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// True once a signal has come.
  bool requested() const;
};

}  // namespace brightnet
