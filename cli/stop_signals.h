// Ctrl-C (SIGINT) and a scheduler's SIGTERM stop a run gracefully: the current step is finished and the state
// saved. A second signal ends the program at once. SIGUSR1 does the same: mpirun forwards it to all ranks,
// whereas on SIGINT and SIGTERM it kills them within two seconds. A closed terminal or dropped connection
// sends SIGHUP, and the shell often sends another: any number of them counts as one signal.
#pragma once

#include <stop_token>
#include <thread>

namespace brightnet::cli {

/// Lets a signal that ends the program erase the progress line first. Ignored signals stay ignored.
void leave_no_progress_line();

/// Turns SIGINT, SIGTERM, SIGUSR1 and SIGHUP into a request to stop during its lifetime; at most one at a time.
/// Signals ignored at program start (nohup; a script's background job) stay ignored. SIGPIPE is ignored
/// meanwhile: the run and its train.log continue when the reader of the output exits (`| head`, a `tee` that
/// died).
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  std::stop_token token() const { return source_.get_token(); }
  bool received() const { return source_.stop_requested(); }

 private:
  std::stop_source source_;
  /// A signal handler may not request a stop itself, which may lock: it wakes this thread.
  std::thread relay_;
};

}  // namespace brightnet::cli
