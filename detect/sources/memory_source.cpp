#include "detect/sources/memory_source.h"

#include <fmt/format.h>

#include "core/error.h"

namespace brightnet {

MemorySource::MemorySource(std::span<const PixelImage> images) : images_(images) {
  for (const PixelImage& image : images) {
    const bool shaped = image.width > 0 && image.height > 0 && (image.channels == 1 || image.channels == 3);
    if (image.pixels && shaped && image.stride >= image.width * static_cast<size_t>(image.channels)) continue;
    throw InputError(
        fmt::format("an image has {} × {} pixels of {} channels in rows of {} bytes{}", image.height,
                    image.width, image.channels, image.stride, image.pixels ? "" : " at no address"),
        "", "An image has 1 channel or 3 of a byte each, and rows that are as long at least.");
  }
}

bool MemorySource::next(Frame& frame) {
  if (at_ == images_.size()) return false;
  const PixelImage& image = images_[at_++];
  frame = {};
  // cv::Mat has no other way to look at memory, and nothing writes to a frame's image.
  frame.image = cv::Mat(image.height, image.width, CV_8UC(image.channels), const_cast<uint8_t*>(image.pixels),
                        image.stride);
  frame.bgr = image.bgr && image.channels == 3;
  return true;
}

}  // namespace brightnet
