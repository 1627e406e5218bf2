#include "data/image_cache.h"

#include "data/image.h"

namespace brightnet {
namespace {

// A decoded side is the stored one divided by 1, 2, 4 or 8 and rounded up; any other means that the file is
// no longer the one whose boxes were read.
bool same_shape(cv::Size decoded, int width, int height) {
  for (const int reduction : {1, 2, 4, 8}) {
    const cv::Size expected((width + reduction - 1) / reduction, (height + reduction - 1) / reduction);
    if (decoded == expected) return true;
  }
  return false;
}

}  // namespace

ImageView DecodedImage::view() const {
  return {pixels.ptr<uint8_t>(),  pixels.step[0],        size.width, size.height, corner.x, corner.y,
          corner.x + pixels.cols, corner.y + pixels.rows};
}

ImageCache::ImageCache(const Dataset& dataset, uint64_t limit_bytes, cv::Size at_least)
    : dataset_(dataset), limit_(limit_bytes), at_least_(at_least), images_(dataset.images.size()) {}

bool ImageCache::reserve(uint64_t bytes) {
  uint64_t used = bytes_;
  while (used + bytes <= limit_) {
    if (bytes_.compare_exchange_weak(used, used + bytes)) return true;
  }
  return false;
}

DecodedImage ImageCache::get(int index, const Region&) {
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
  cv::Mat image = read_image(record.file, at_least_);
  if (!same_shape(image.size(), record.width, record.height)) {
    throw InputError("this image has another size than when the data set was read", record.file.string(),
                     "Leave the data alone while training, or start again.");
  }
  const uint64_t bytes = image.total() * image.elemSize();
  const std::lock_guard lock(mutex_);
  if (images_[slot].empty() && reserve(bytes)) images_[slot] = image;
  return {image, image.size(), {}};
}

}  // namespace brightnet
