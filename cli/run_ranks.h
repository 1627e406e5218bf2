// Starts the ranks of `--ranks N`.
#pragma once

#include <string>
#include <vector>

namespace brightnet::cli {

/// Starts `program` with `arguments` as `ranks` ranks on this machine by mpirun, waits for them, and returns
/// their exit code. SIGINT and SIGTERM are forwarded to every rank as a request to save and stop; a second
/// one kills them. Throws InputError when there is no mpirun.
int run_ranks(int ranks, const std::string& program, const std::vector<std::string>& arguments);

}  // namespace brightnet::cli
