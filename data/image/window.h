// Reads only the part of an image that a crop needs.
#pragma once

#include <filesystem>

#include <opencv2/core.hpp>

namespace brightnet {

struct ImageWindow {
  cv::Mat pixels;    ///< 8-bit RGB or grey
  cv::Size size;     ///< of the whole image as decoded
  cv::Point corner;  ///< of `pixels` in it
};

/// The whole pixels, at least one, that a part of an image of this size touches: `needed` is in fractions of its width and
/// height, and may reach beyond the image.
cv::Rect touched_pixels(cv::Size size, const cv::Rect2d& needed);

/// Reads at least the part `needed`, in fractions of the image's width and height (it may reach beyond the image),
/// of read_image(file, at_least, channels), with the same pixels. Of an upright JPEG only the window is decoded; other
/// images are decoded in full. Throws what read_image throws, but damage below the window is not detected if
/// the file has its end marker.
ImageWindow read_image_window(const std::filesystem::path& file, cv::Size at_least, const cv::Rect2d& needed,
                              int channels = 3);

}  // namespace brightnet
