// An error on one rank must end all of them and be reported once. Before the first step the ranks can still
// agree on it: they prepare, tell each other how it went, and after a failure anywhere all end in good order.
// Later, a rank that fails ends the others, wherever they wait for it (Communicator::fail).
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "train/distributed/communicator.h"

namespace brightnet {

/// An error that all ranks throw together. Rank 0 reports it.
class SharedError : public Error {
 public:
  SharedError(ExitCode code, const std::string& what) : Error(code, what, "", "") {}
};

/// Runs `prepare` on every rank. When it throws on any of them, all throw a SharedError with the message of
/// the lowest rank that failed; the message names that rank, unless all ranks have the same message.
void prepare_together(Communicator& communicator, const std::function<void()>& prepare);

/// Throws a SharedError when a rank's `text` is not that of rank 0: ranks with a different `what` would not
/// train what was asked for.
void require_same(Communicator& communicator, const std::string& what, std::string_view text);

/// Does a command's work on this rank and returns its exit code. Messages carry the rank's number, and those
/// of ranks other than 0 are warnings and errors only. Alone, this is work().
int run_as_rank(Communicator& communicator, const std::function<int()>& work);

}  // namespace brightnet
