// Lets one process at a time write into a run's folder. The kernel's lock on an open file (flock) ends with
// the process, even if it crashes; the file that remains has no meaning.
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>

#include "core/descriptor.h"
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
  /// Throws InputError when the lock or its folder on disk is not the one that is held: the run's folder was deleted and
  /// made again, perhaps by another run. A folder that is merely gone, with its disk say, may come back.
  void check() const;
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

 private:
  std::filesystem::path path_;
  Descriptor file_;
  std::optional<FileIdentity> lock_, folder_;
};

/// Waits until no process holds the lock of a run, or `limit` is over. Returns whether it is free: a run that was never begun
/// is, and so is one on a file system without locks.
bool wait_for_end_of_run(const RunFolder& folder, std::chrono::milliseconds limit,
                         const std::stop_token& stop);

}  // namespace brightnet
