// Decoded images in memory, up to a limit of bytes.
//
// An epoch visits every image once in a random order, which is the worst case of least-recently-used: it
// would throw out each image just before it is needed. So what is in stays in, and what comes when the
// cache is full is decoded each time: with room for a fraction of the data set, that fraction of the reads
// is saved.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include <opencv2/core.hpp>

#include "data/dataset.h"
#include "data/image/window.h"

namespace brightnet {

/// Thread-safe. What it answers depends on the image alone, not on what is cached: a window has the same
/// pixels as the same part of the whole image.
class ImageCache {
 public:
  /// `at_least`: images so large that they still have this size at 1/2, 1/4 or 1/8 are decoded so
  /// (see read_image).
  ImageCache(const Dataset& dataset, uint64_t limit_bytes, cv::Size at_least);

  /// At least the part `needed` of image `index`, in fractions of its width and height; what is kept is
  /// whole. Throws InputError for a file that vanished, broke, or changed its size since the data set
  /// was read.
  ImageWindow get(int index, const cv::Rect2d& needed);

  /// How many times smaller than its file at most an image is decoded: 1, 2, 4 or 8.
  int reduction(int index) const;

  /// Bytes kept, and how often get() found the image here or had to decode it.
  uint64_t bytes() const { return bytes_; }
  uint64_t hits() const { return hits_; }
  uint64_t misses() const { return misses_; }

 private:
  void keep(int index, const cv::Mat& image);

  const Dataset& dataset_;
  const uint64_t limit_;
  const cv::Size at_least_;
  std::mutex mutex_;             // for images_ and writing bytes_
  std::vector<cv::Mat> images_;  // empty where not kept; never written once they are in
  std::atomic<uint64_t> bytes_{0}, hits_{0}, misses_{0};
};

}  // namespace brightnet
