#include "data/loader/image_cache.h"

#include "core/error.h"
#include "data/image/jpeg.h"
#include "data/image/read_image.h"

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

[[noreturn]] void refuse_changed(const ImageRecord& record) {
  throw InputError("this image has another size than when the data set was read", record.file.string(),
                   "Do not change the data during training, or restart.");
}

/// Converts a part of a tile, in fractions of the tile, to fractions of its picture, cut to the tile.
cv::Rect2d part_of_picture(const ImageTile& tile, const cv::Rect2d& part) {
  const cv::Rect2d inside = part & cv::Rect2d(0, 0, 1, 1);
  const double width = tile.picture_width, height = tile.picture_height;
  return {(tile.x + inside.x * tile.width) / width, (tile.y + inside.y * tile.height) / height,
          inside.width * tile.width / width, inside.height * tile.height / height};
}

/// Cuts a window of the picture to the tile and returns it as a window of the tile.
ImageWindow window_of_tile(const ImageWindow& picture, const ImageTile& tile) {
  const cv::Rect shown =
      cv::Rect(picture.corner, picture.pixels.size()) & cv::Rect(tile.x, tile.y, tile.width, tile.height);
  return {picture.pixels(shown - picture.corner), cv::Size(tile.width, tile.height),
          shown.tl() - cv::Point(tile.x, tile.y)};
}

}  // namespace

ImageWindow read_record(const ImageRecord& record, cv::Size at_least, const cv::Rect2d& needed, int channels,
                        const DeviceDecoding& device) {
  if (!record.tile) {
    const ImageWindow image = read_image_window(record.file, at_least, needed, channels, device);
    if (!same_shape(image.size, record.width, record.height)) refuse_changed(record);
    return image;
  }
  const ImageWindow picture =
      read_image_window(record.file, {}, part_of_picture(record.tile, needed), channels, device);
  if (picture.size != cv::Size(record.tile.picture_width, record.tile.picture_height)) refuse_changed(record);
  return window_of_tile(picture, record.tile);
}

ImageCache::ImageCache(const Dataset& dataset, uint64_t limit_bytes, cv::Size at_least, int channels,
                       JpegDecoder* decoder)
    : dataset_(dataset),
      limit_(limit_bytes),
      at_least_(at_least),
      channels_(channels),
      decoder_(decoder),
      whole_(decoder ? dataset.images.size() : 0),
      images_(dataset.images.size()) {}

int ImageCache::reduction(int index) const {
  const ImageRecord& record = dataset_.images[index];
  // Tiles are decoded at full size: in a reduced picture a tile would begin between two pixels.
  return record.tile ? 1 : jpeg_reduction({record.width, record.height}, at_least_);
}

ImageWindow ImageCache::get(int index, const cv::Rect2d& needed) {
  const size_t slot = index;
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
  const uint64_t reduced = reduction(index);
  const uint64_t bytes = channels_ * (record.width / reduced) * (record.height / reduced);
  const bool room = bytes_ + bytes <= limit_;
  const cv::Rect2d whole(0, 0, 1, 1);
  const DeviceDecoding device{decoder_, decoder_ ? &whole_[slot] : nullptr};
  ImageWindow image = read_record(record, at_least_, room ? whole : needed, channels_, device);
  // A tile's pixels may lie in those of its picture, which must not be kept for it.
  if (room && image.pixels.size() == image.size)
    keep(index, record.tile ? image.pixels.clone() : image.pixels);
  return image;
}

void ImageCache::keep(int index, const cv::Mat& image) {
  const uint64_t bytes = image.total() * image.elemSize();
  const std::lock_guard lock(mutex_);
  cv::Mat& place = images_[index];
  if (!place.empty() || bytes_ + bytes > limit_) return;  // another thread may have cached it
  place = image;
  bytes_ += bytes;
}

}  // namespace brightnet
