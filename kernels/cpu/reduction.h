// Sums over flat arrays on the CPU.
#pragma once

#include <cstddef>

namespace brightnet::cpu {

/// Σ x² in fp64: cannot overflow for finite x; +∞ or NaN exactly when an element is not finite. Bit-identical
/// for any number of threads.
double sum_of_squares(const float* x, size_t count);

}  // namespace brightnet::cpu
