// Decoded images in memory, up to a limit of bytes.
//
// An epoch visits every image once in a random order, which is the worst case of least-recently-used: it
// would throw out each image just before it is needed. So what is in stays in, and what comes when the cache
// is full is decoded each time: with room for a fraction of the data set, that fraction of the reads is
// saved.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include <opencv2/core.hpp>

#include "data/dataset.h"
#include "data/resample.h"

namespace brightnet {

/// A decoded image, or the window of it that was asked for.
struct DecodedImage {
  cv::Mat pixels;    ///< 8-bit RGB; shared with the cache, never written
  cv::Size size;     ///< of the whole image as decoded
  cv::Point corner;  ///< of `pixels` in it
  ImageView view() const;
};

/// Thread-safe. What it answers depends on the image alone, not on what is cached: a window has the same
/// pixels as the same part of the whole image.
class ImageCache {
 public:
  /// `at_least`: images so large that they still have this size at 1/2, 1/4 or 1/8 are decoded so (see
  /// read_image).
  ImageCache(const Dataset& dataset, uint64_t limit_bytes, cv::Size at_least);

  /// At least the part `needed` of image `index`, in pixels of the image at its full size. Throws InputError
  /// for a file that vanished, broke, or changed its size since the data set was read.
  DecodedImage get(int index, const Region& needed);

  /// Bytes kept, and how often get() found the image here or had to decode it.
  uint64_t bytes() const { return bytes_; }
  uint64_t hits() const { return hits_; }
  uint64_t misses() const { return misses_; }

 private:
  bool reserve(uint64_t bytes);

  const Dataset& dataset_;
  const uint64_t limit_;
  const cv::Size at_least_;
  std::mutex mutex_;             // for images_
  std::vector<cv::Mat> images_;  // empty where not cached
  std::atomic<uint64_t> bytes_{0}, hits_{0}, misses_{0};
};

}  // namespace brightnet
