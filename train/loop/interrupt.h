// Ctrl-C (SIGINT) and a scheduler's SIGTERM stop a run gracefully: the current step is finished and the state
// saved. A second signal ends the program at once. SIGUSR1 does the same: mpirun forwards it to all ranks,
// whereas on SIGINT and SIGTERM it kills them within two seconds. A closed terminal or dropped connection
// sends SIGHUP, and the shell often sends another: any number of them counts as one signal.
#pragma once

namespace brightnet {

/// Handles SIGINT, SIGTERM, SIGUSR1 and SIGHUP during its lifetime; at most one at a time. Signals ignored
/// at program start (nohup; a script's background job) stay ignored. SIGPIPE is ignored meanwhile: the run
/// and its train.log continue when the reader of the output exits (`| head`, a `tee` that died).
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// True once a signal has been received.
  bool requested() const;
};

}  // namespace brightnet
