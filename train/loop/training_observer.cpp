#include "train/loop/training_observer.h"

#include "core/error.h"
#include "core/log.h"

namespace brightnet {

void Observers::report(const TrainingObserver& observer, const std::exception_ptr& problem) {
  std::string reason = "unknown error.";
  try {
    std::rethrow_exception(problem);
  } catch (const Error& e) {
    reason = e.what();
  } catch (const std::exception& e) {
    reason = describe_internal(e);
  } catch (...) {  // of a host's own kind
  }
  log::warn("{} failed and is left out from now on: {} Training, its state and its weights are not affected.",
            observer.name(), reason);
}

}  // namespace brightnet
