#include "train/run/best_effort.h"

#include <exception>

#include "core/error.h"
#include "core/log.h"
#include "train/distributed/agreement.h"

namespace brightnet {

void BestEffort::attempt(const std::string& what, const std::function<void()>& work) {
  try {
    if (before_work) before_work(what);
    work();
  } catch (const std::exception& e) {
    warn(what, e);
  }
}

void BestEffort::attempt_together(const Communicator& communicator, const std::string& what,
                                  const std::function<void()>& work) {
  if (communicator.alone()) return attempt(what, work);
  try {
    work();
  } catch (const SharedError& e) {
    if (communicator.leads()) warn(what, e);
  }
}

void BestEffort::warn(const std::string& what, const std::exception& problem) {
  if (!said_.insert(what).second) return;
  const bool ours = dynamic_cast<const Error*>(&problem) == nullptr;
  log::warn("{} failed and is left out: {} Training, its state and its weights are not affected.", what,
            ours ? describe_internal(problem) : problem.what());
}

}  // namespace brightnet
