// Division of whole numbers that rounds up.
#pragma once

#include <cstdint>

namespace brightnet {

/// How many parts of `b` it takes to cover `a`: a / b, rounded up. a ≥ 0, b > 0.
constexpr int64_t divided_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace brightnet
