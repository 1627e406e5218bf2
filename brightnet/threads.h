// Settings of threads that a process makes before it computes. The library changes none of them by itself.
#pragma once

#include "brightnet/public.h"

namespace brightnet {

/// Has work that this thread calls done by as many threads as the process may use at once, by its affinity and by the quota of
/// its control group (`docker run --cpus`), of which OpenMP does not know; unless OMP_NUM_THREADS says how many.
BRIGHTNET_PUBLIC void limit_openmp_threads();

/// Has OpenCV decode and resize images in the thread that asks for it, as cv::setNumThreads(1) does: threads of its own compete
/// with the loader's. For the whole process.
BRIGHTNET_PUBLIC void limit_image_threads();

/// Does what limit_image_threads() does for as long as one of these objects lives, in a process where others use OpenCV too. The
/// last object gives back the number of threads that the first one found, unless it has been changed meanwhile. OpenCV ends its
/// threads when their number changes: no other thread may be in OpenCV when the first object is made or the last one goes.
class BRIGHTNET_PUBLIC LimitedImageThreads {
 public:
  LimitedImageThreads();
  ~LimitedImageThreads();
  LimitedImageThreads(const LimitedImageThreads&) = delete;
  LimitedImageThreads& operator=(const LimitedImageThreads&) = delete;
};

}  // namespace brightnet
