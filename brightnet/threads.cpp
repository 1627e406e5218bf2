#include "brightnet/threads.h"

#include <mutex>

#include <opencv2/core/utility.hpp>

#include "core/threads.h"

namespace brightnet {
namespace {

/// Those who have OpenCV's threads limited, and how many there were before the first of them.
struct ImageThreadLimit {
  std::mutex mutex;
  int holders = 0, before = 1;
};
ImageThreadLimit image_thread_limit;

}  // namespace

void limit_openmp_threads() {
  limit_compute_threads();
}

void limit_image_threads() {
  cv::setNumThreads(1);
}

LimitedImageThreads::LimitedImageThreads() {
  const std::lock_guard lock(image_thread_limit.mutex);
  if (image_thread_limit.holders++ > 0) return;
  image_thread_limit.before = cv::getNumThreads();
  if (image_thread_limit.before != 1) cv::setNumThreads(1);
}

LimitedImageThreads::~LimitedImageThreads() {
  const std::lock_guard lock(image_thread_limit.mutex);
  if (--image_thread_limit.holders > 0 || image_thread_limit.before == 1 || cv::getNumThreads() != 1) return;
  cv::setNumThreads(image_thread_limit.before);
}

}  // namespace brightnet
