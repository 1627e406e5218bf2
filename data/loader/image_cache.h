// Decoded images in memory, up to a limit of bytes. A tile (data/tiles/tiles.h) is an image by itself.
//
// An epoch visits every image once in a random order, the worst case for least-recently-used eviction. So
// images are never evicted, and those that do not fit are decoded each time: with room for a fraction of the
// data set, that fraction of the reads is saved.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include <opencv2/core.hpp>

#include "data/dataset.h"
#include "data/image/window.h"

namespace brightnet {

/// Reads at least the part `needed` of an image, or of the tile that it is, in fractions of its sides.
/// `at_least`: an image that still has this size at 1/2, 1/4 or 1/8 is decoded at that scale (read_image()),
/// a tile at its own. Throws InputError for a file that was deleted, damaged or resized since the data set
/// was read.
ImageWindow read_record(const ImageRecord& record, cv::Size at_least, const cv::Rect2d& needed, int channels,
                        const DeviceDecoding& device = {});

/// Thread-safe. The result does not depend on what is cached: a window has the same pixels as that part of
/// the whole image.
class ImageCache {
 public:
  /// `at_least`: as in read_record(). `channels`: 3 for RGB, 1 for grey, a third of the bytes. `decoder`: a device's, none
  /// where the CPU decodes everything.
  ImageCache(const Dataset& dataset, uint64_t limit_bytes, cv::Size at_least, int channels = 3,
             JpegDecoder* decoder = nullptr);

  int channels() const { return channels_; }

  /// read_record() of image `index`; only whole images are cached.
  ImageWindow get(int index, const cv::Rect2d& needed);

  /// The largest factor by which an image is reduced when decoded: 1, 2, 4 or 8.
  int reduction(int index) const;

  /// Bytes cached, and how often get() found the image in the cache or had to decode it.
  uint64_t bytes() const { return bytes_; }
  uint64_t hits() const { return hits_; }
  uint64_t misses() const { return misses_; }

 private:
  void keep(int index, const cv::Mat& image);

  const Dataset& dataset_;
  const uint64_t limit_;
  const cv::Size at_least_;
  const int channels_;
  JpegDecoder* const decoder_;
  std::vector<std::atomic<bool>> whole_;  // DeviceDecoding::whole
  std::mutex mutex_;                      // guards images_ and writing bytes_
  std::vector<cv::Mat> images_;           // empty where not kept; never written once an image is kept
  std::atomic<uint64_t> bytes_{0}, hits_{0}, misses_{0};
};

}  // namespace brightnet
