// Lets one process at a time write into a run's folder. The kernel's lock on an open file (flock) ends with
// the process, even if it crashes; the file that remains has no meaning.
#pragma once

#include "train/run/run_folder.h"

namespace brightnet {

class RunLock {
 public:
  /// Locks the run for the lifetime of this object, and removes temporary files that a killed process left.
  /// Throws InputError when another process, which it names, holds the lock, when the folder is not writable, or
  /// when its lock, its state/ or its weights/ is a symbolic link. On file systems without locks (some cluster
  /// file systems) it only warns.
  explicit RunLock(const RunFolder& folder);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

 private:
  int file_ = -1;
};

}  // namespace brightnet
