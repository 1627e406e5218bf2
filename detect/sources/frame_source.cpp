#include "detect/sources/frame_source.h"

#include <opencv2/imgproc.hpp>

#include "data/image/darknet_image.h"

namespace brightnet {

void FrameSource::decode(Frame& frame, const InputFit& fit) const {
  if (!frame.failure.empty()) return;
  if (frame.clip) {
    cv::cvtColor(frame.image, frame.image, cv::COLOR_BGR2RGB);
    return;
  }
  try {
    frame.image = as_darknet(fit.resize) ? read_darknet_image(frame.file, 3, max_pixels_)
                                         : read_image(frame.file, {}, 3, max_pixels_);
  } catch (const ImageError& e) {
    frame.failure = e.detail();
  }
}

std::optional<cv::Size> FrameSource::size(const Frame& frame) const {
  if (!frame.failure.empty()) return std::nullopt;
  return frame.image.empty() ? image_size(frame.file, max_pixels_) : frame.image.size();
}

ShownPixels FrameSource::shown(const Frame& frame, const ImageTile& part, const InputFit&) const {
  const cv::Rect pixels(part.x, part.y, part.width, part.height);
  return {.pixels = frame.image(pixels),
          .bgr = frame.bgr,
          .size = pixels.size(),
          .region = {0, 0, static_cast<double>(part.width), static_cast<double>(part.height)}};
}

}  // namespace brightnet
