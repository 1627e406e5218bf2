// Detects whether this process is one of several ranks, and starts the ranks of `--ranks N`.
#pragma once

#include <string>
#include <vector>

namespace brightnet {

/// What the environment says about how this process was started.
struct LaunchedRank {
  /// One of several ranks, according to the launcher.
  bool is_rank = false;
  /// Number of ranks; 0: unknown.
  int size = 0;
};
LaunchedRank launched_rank();

/// Starts `program` with `arguments` as `ranks` ranks on this machine by mpirun, waits for them, and returns
/// their exit code. SIGINT and SIGTERM are forwarded to every rank as a request to save and stop; a second
/// one kills them. Throws InputError when there is no mpirun.
int run_ranks(int ranks, const std::string& program, const std::vector<std::string>& arguments);

}  // namespace brightnet
