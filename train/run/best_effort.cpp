#include "train/run/best_effort.h"

#include <exception>

#include "core/error.h"
#include "core/log.h"
#include "train/distributed/agreement.h"

namespace brightnet {

bool BestEffort::attempt(const std::string& what, const std::function<void()>& work) {
  try {
    if (before_work) before_work(what);
    work();
    return true;
  } catch (const std::exception& e) {
    warn(what, e);
    return false;
  }
}

void BestEffort::attempt_together(const Communicator& communicator, const std::string& what,
                                  const std::function<void()>& work) {
  if (communicator.alone()) {
    attempt(what, work);
    return;
  }
  try {
    work();
  } catch (const SharedError& e) {
    if (communicator.leads()) warn(what, e);
  }
}

void BestEffort::warn(const std::string& what, const std::exception& problem) {
  if (!said_.insert(what).second) return;
  const bool ours = dynamic_cast<const Error*>(&problem) == nullptr;
  log::warn("{} failed and is left out: {} {} not affected.", what,
            ours ? describe_internal(problem) : problem.what(), unaffected_);
}

}  // namespace brightnet
