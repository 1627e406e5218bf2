// Progress of work that one process does alone while others wait for it, such as timing cuDNN's engines: a rank
// that makes progress is not missing, however long it takes (train/distributed/watchdog.h).
#pragma once

#include <cstdint>

namespace brightnet {

/// Records that another part of such work is done. May be called from any thread.
void note_progress();
/// How many parts this process has recorded so far.
uint64_t progress_count();

}  // namespace brightnet
