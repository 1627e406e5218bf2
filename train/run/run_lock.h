// One program at a time writes into a run's folder. The lock is the kernel's on an open file (flock): it ends
// with the process, however that ends, and the file that remains means nothing.
#pragma once

#include "train/run/run_folder.h"

namespace brightnet {

class RunLock {
 public:
  /// Takes the run for this process until the end of this object, and removes the half-written files of an
  /// earlier one that was killed. Throws InputError when another process has the run, which it names, or when
  /// the folder cannot be written to. Where the file system has no locks (some cluster file systems) it warns
  /// and goes on.
  explicit RunLock(const RunFolder& folder);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

 private:
  int file_ = -1;
};

}  // namespace brightnet
