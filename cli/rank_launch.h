// Starts the ranks of `--ranks N`.
#pragma once

#include <string>
#include <vector>

namespace brightnet::cli {

struct RanksEnd {
  /// Exit code of the ranks; 128 plus the signal's number when a signal ended them, the user's own where that was passed on.
  int code = 0;
  bool asked = false;  ///< whether they were asked to stop
};

/// Starts `program` with `arguments` as `ranks` ranks on this machine, by mpirun if they are several, and waits for them.
/// SIGINT, SIGTERM, SIGUSR1 and SIGHUP are forwarded to every rank as a request to save and stop; a second one kills them. Throws
/// InputError when there is no mpirun.
RanksEnd run_ranks(int ranks, const std::string& program, const std::vector<std::string>& arguments);

/// How many ranks run_ranks() has started, in one of them; 0: another launcher has, or none.
int launched_ranks();

}  // namespace brightnet::cli
