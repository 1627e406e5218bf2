// The CPU's operations, for tests that are about them, or that hold another device against them.
#pragma once

#include "kernels/backend.h"

namespace brightnet {

inline Backend& on_cpu() {
  static const auto backend = make_cpu_backend();
  return *backend;
}

}  // namespace brightnet
