// Ctrl-C and a scheduler's SIGTERM end a run in order: the current step is finished and the state is saved. A
// second signal ends the program at once. SIGUSR1 does the same: mpirun passes it on to all ranks and gives
// them the time they need, whereas it answers the other two by killing them within two seconds. A terminal
// that is closed or a connection that drops sends SIGHUP, and the shell often sends it once more: however
// many come, they count as one signal.
#pragma once

namespace brightnet {

/// Listens for SIGINT, SIGTERM, SIGUSR1 and SIGHUP while it lives; one at a time. Those that the program was
/// started to ignore (nohup; a script's background job) stay ignored. SIGPIPE is ignored meanwhile: when the
/// reader of the messages ends (`| head`, a `tee` that died), the run and its train.log go on.
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
