#include "data/loader/image_cache.h"

#include "core/error.h"
#include "data/image/jpeg.h"

namespace brightnet {
namespace {

// A decoded side is the stored one divided by 1, 2, 4 or 8 and rounded up; otherwise the file has been
// replaced since its boxes were read.
bool same_shape(cv::Size decoded, int width, int height) {
  for (const int reduction : {1, 2, 4, 8}) {
    const cv::Size expected((width + reduction - 1) / reduction, (height + reduction - 1) / reduction);
    if (decoded == expected) return true;
  }
  return false;
}

}  // namespace

ImageCache::ImageCache(const Dataset& dataset, uint64_t limit_bytes, cv::Size at_least)
    : dataset_(dataset), limit_(limit_bytes), at_least_(at_least), images_(dataset.images.size()) {}

int ImageCache::reduction(int index) const {
  const ImageRecord& record = dataset_.images[static_cast<size_t>(index)];
  return jpeg_reduction({record.width, record.height}, at_least_);
}

ImageWindow ImageCache::get(int index, const cv::Rect2d& needed) {
  const size_t slot = static_cast<size_t>(index);
  {
    const std::lock_guard lock(mutex_);
    const cv::Mat& kept = images_[slot];
    if (!kept.empty()) {
      ++hits_;
      return {kept, kept.size(), {}};
    }
  }
  ++misses_;
  const ImageRecord& record = dataset_.images[slot];
  const uint64_t reduced = static_cast<uint64_t>(reduction(index));
  const uint64_t bytes =
      3 * (static_cast<uint64_t>(record.width) / reduced) * (static_cast<uint64_t>(record.height) / reduced);
  const bool room = bytes_ + bytes <= limit_;
  const cv::Rect2d whole(0, 0, 1, 1);
  ImageWindow image = read_image_window(record.file, at_least_, room ? whole : needed);
  if (!same_shape(image.size, record.width, record.height)) {
    throw InputError("this image has another size than when the data set was read", record.file.string(),
                     "Do not change the data during training, or restart.");
  }
  if (image.pixels.size() == image.size) keep(index, image.pixels);
  return image;
}

void ImageCache::keep(int index, const cv::Mat& image) {
  const uint64_t bytes = image.total() * image.elemSize();
  const std::lock_guard lock(mutex_);
  cv::Mat& place = images_[static_cast<size_t>(index)];
  if (!place.empty() || bytes_ + bytes > limit_) return;  // another thread may have cached it
  place = image;
  bytes_ += bytes;
}

}  // namespace brightnet
