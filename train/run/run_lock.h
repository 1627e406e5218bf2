// Lets one process at a time write into a run's folder. The kernel's lock on an open file (flock) ends with
// the process, even if it crashes; the file that remains has no meaning.
#pragma once

#include <optional>

#include "core/file_identity.h"
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
  /// Throws InputError when the lock or its folder on disk is not the one that is held: the run's folder was deleted and
  /// made again, perhaps by another run. A folder that is merely gone, with its disk say, may come back.
  void check() const;
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

 private:
  std::filesystem::path path_;
  int file_ = -1;
  std::optional<FileIdentity> lock_, folder_;
};

}  // namespace brightnet
