// What a run can be without: its report, plots, pictures and closing words, and the measurement on training images.
// Whatever goes wrong there, a bug of ours among it, is said and does not end the run.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>

#include "train/distributed/communicator.h"

namespace brightnet {

class BestEffort {
 public:
  /// `unaffected` ends the warnings: what goes on all the same, with its verb.
  explicit BestEffort(std::string unaffected = "Training, its state and its weights are")
      : unaffected_(std::move(unaffected)) {}

  /// Calls `work`, which takes no part in messages between ranks. What it throws becomes a warning, one for each
  /// `what`: a noun that the warning begins with. Returns whether it was done.
  bool attempt(const std::string& what, const std::function<void()>& work);

  /// Like attempt(), for work of all ranks together. With several ranks only an error that all of them share
  /// (SharedError) becomes a warning: after any other, the others would wait for this rank in another call.
  void attempt_together(const Communicator& communicator, const std::string& what,
                        const std::function<void()>& work);

  /// Tests set this: it is called with every `what` before its work. What it throws is treated as the work's.
  static inline std::function<void(const std::string& what)> before_work;

 private:
  void warn(const std::string& what, const std::exception& problem);

  std::string unaffected_;
  std::set<std::string> said_;
};

}  // namespace brightnet
