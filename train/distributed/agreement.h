// An error on one rank must end all of them and be reported once. During preparation the ranks exchange
// their outcomes, and after a failure anywhere all exit in an orderly way. From the first step on, a rank
// that fails aborts the others, wherever they wait for it (Communicator::fail).
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "train/distributed/communicator.h"

namespace brightnet {

/// This machine's name.
std::string host_name();

/// An error that all ranks throw together. Rank 0 reports it.
class SharedError : public Error {
 public:
  SharedError(ExitCode code, const std::string& what) : Error(code, what, "", "") {}
};

/// Runs `prepare` on every rank. When it throws on any of them, all throw a SharedError with the message of
/// the lowest rank that failed; the message names that rank, unless all ranks have the same message.
void prepare_together(Communicator& communicator, const std::function<void()>& prepare);

/// Throws a SharedError when a rank's `text` differs from that of rank 0. `what` names it in the message.
void require_same(Communicator& communicator, const std::string& what, std::string_view text);

/// Runs a command's work on this rank and returns its exit code. Messages carry the rank's number; ranks
/// other than 0 log warnings and errors only. With a single rank, this is work().
int run_as_rank(Communicator& communicator, const std::function<int()>& work);

}  // namespace brightnet
