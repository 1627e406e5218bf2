// What goes wrong on one rank must end all of them, and be said once. Before the first step the ranks can
// still talk about it: they prepare, tell each other how it went, and if it went wrong anywhere all leave in
// good order. Later on, a rank that fails ends the others (Communicator::fail), which may be waiting for it
// anywhere.
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
/// the lowest rank that failed; the message names that rank, unless every rank said the same.
void prepare_together(Communicator& communicator, const std::function<void()>& prepare);

/// Throws a SharedError when a rank's `text` is not that of rank 0: ranks with different `what` would train
/// something that nobody asked for.
void require_same(Communicator& communicator, const std::string& what, std::string_view text);

/// Does a command's work on this rank and returns its exit code. Messages carry the rank's number, and those
/// of ranks other than 0 are warnings and errors only. Alone, this is work().
int run_as_rank(Communicator& communicator, const std::function<int()>& work);

}  // namespace brightnet
