// The folder of a run. Rank 0 finds it, or makes it, before anything else is done, so that train.log contains every message.
#pragma once

#include <memory>

#include "train/distributed/communicator.h"
#include "train/run/run_lock.h"
#include "train/setup/resume.h"

namespace brightnet {

class RunPlace {
 public:
  /// Finds the run to be resumed (with_run_found()) or creates a new one's folder; locks it and opens its
  /// log. All ranks call it. Throws InputError, on all of them.
  RunPlace(const RunRequest& request, Communicator& ranks);
  /// Removes a new run's folder, unless the run was begun.
  ~RunPlace();
  RunPlace(const RunPlace&) = delete;
  RunPlace& operator=(const RunPlace&) = delete;

  /// The request with the folder of the run that is resumed or begun again.
  const RunRequest& request() const { return request_; }
  const RunFolder& folder() const { return folder_; }
  /// Logs that the folder of a new run has a number, once the run begins: one that is refused is written nowhere.
  void say_number() const;
  /// Throws InputError when the folder is no longer the one that was locked (RunLock::check()).
  void check() const;

 private:
  void find_or_create();

  RunRequest request_;
  RunFolder folder_ = RunFolder::at("");
  std::filesystem::path kept_;     ///< the folder of another run, which this one's would have been
  std::unique_ptr<RunLock> lock_;  ///< lock of the run's folder, held on rank 0 only
  bool leads_ = true;
};

}  // namespace brightnet
