// The number of compute threads, and parallel loops.
#pragma once

#include <cstddef>
#include <cstdlib>

#include <omp.h>

#include "core/processors.h"

namespace brightnet {

/// Sets the number of compute threads to usable_processors(), unless OMP_NUM_THREADS gives it: OpenMP itself knows
/// the affinity, but no quota. Called once, when a program starts.
inline void limit_compute_threads() {
  if (!std::getenv("OMP_NUM_THREADS")) omp_set_num_threads(usable_processors());
}

/// Threads of OpenMP and oneDNN: OMP_NUM_THREADS, else the processors this process may use.
inline int compute_threads() {
  return omp_get_max_threads();
}

/// Calls body(begin, end) on contiguous parts of [0, count), one per thread. The parts depend only on the
/// number of threads, so results are reproducible for a given number.
template <typename Body>
void parallel_ranges(size_t count, Body&& body) {
#pragma omp parallel
  {
    const size_t threads = omp_get_num_threads();
    const size_t thread = omp_get_thread_num();
    const size_t begin = count * thread / threads;
    const size_t end = count * (thread + 1) / threads;
    if (begin < end) body(begin, end);
  }
}

}  // namespace brightnet
