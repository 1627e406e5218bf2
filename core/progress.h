// Signs of life of work that one process does alone while others wait for it, such as timing cuDNN's engines: a
// rank that makes progress is not missing, however long it takes (train/distributed/watchdog.h).
#pragma once

#include <cstdint>

namespace brightnet {

/// Another part of such work is done. Callable from any thread.
void note_progress();
/// Parts done by this process so far.
uint64_t progress_count();

}  // namespace brightnet
