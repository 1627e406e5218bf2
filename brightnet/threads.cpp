#include "brightnet/threads.h"

#include <cstdlib>

#include <omp.h>
#include <opencv2/core/utility.hpp>

#include "core/processors.h"

namespace brightnet {

void limit_compute_threads() {
  if (!std::getenv("OMP_NUM_THREADS")) omp_set_num_threads(usable_processors());
}

void limit_image_threads() {
  cv::setNumThreads(1);
}

}  // namespace brightnet
