#include "brightnet/threads.h"

#include <opencv2/core/utility.hpp>

#include "core/threads.h"

namespace brightnet {

void limit_openmp_threads() {
  limit_compute_threads();
}

void limit_image_threads() {
  cv::setNumThreads(1);
}

}  // namespace brightnet
