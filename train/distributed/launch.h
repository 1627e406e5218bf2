// How a process knows that it is one rank of several, and how `--ranks N` starts them.
#pragma once

#include <string>
#include <vector>

namespace brightnet {

/// What the environment says about how this process was started.
struct LaunchedRank {
  /// One of several, as far as the launcher tells.
  bool is_rank = false;
  /// 0: the launcher does not tell.
  int size = 0;
};
LaunchedRank launched_rank();

/// Starts `program` with `arguments` as `ranks` ranks on this machine by mpirun, waits for them, and returns
/// their exit code. SIGINT and SIGTERM reach every rank as a request to save and stop; a second one ends
/// them. Throws InputError when there is no mpirun.
int run_ranks(int ranks, const std::string& program, const std::vector<std::string>& arguments);

}  // namespace brightnet
