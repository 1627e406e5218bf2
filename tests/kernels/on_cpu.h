// The CPU's operations, for tests of them and for comparison with another device.
#pragma once

#include "kernels/backend.h"

namespace brightnet {

inline Backend& on_cpu() {
  static const auto backend = make_cpu_backend();
  return *backend;
}

}  // namespace brightnet
