// Monotonic time, independent of changes to the system clock.
#pragma once

#include <chrono>

namespace brightnet {

inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace brightnet
