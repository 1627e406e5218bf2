// Reads only the part of an image that a crop needs.
#pragma once

#include <atomic>
#include <filesystem>

#include <opencv2/core.hpp>

#include "core/jpeg_decoder.h"

namespace brightnet {

/// How a device decodes the file of an image.
struct DeviceDecoding {
  JpegDecoder* decoder = nullptr;  ///< none: the CPU decodes it
  /// Whether the CPU has read all of the file once: a device may show what is damaged as grey without a word.
  std::atomic<bool>* whole = nullptr;
};

struct ImageWindow {
  cv::Mat pixels;    ///< 8-bit RGB or grey
  cv::Size size;     ///< size of the whole image as decoded
  cv::Point corner;  ///< upper left corner of `pixels` in the whole image
};

/// The whole pixels, at least one, that a part of an image of this size touches: `needed` is in fractions of its width and
/// height, and may reach beyond the image.
cv::Rect touched_pixels(cv::Size size, const cv::Rect2d& needed);

/// Reads at least the part `needed`, in fractions of the image's width and height (it may reach beyond the image),
/// of read_image(file, at_least, channels), with the same pixels. Of an upright JPEG only the window is decoded; other
/// images are decoded in full. Throws what read_image throws, but damage below the window is not detected if
/// the file has its end marker. A device decodes the usual kinds of JPEG (ImageHeader::usual_jpeg) of up to
/// JpegDecoder::most_pixels that are decoded at their own size, with the pixels of its own decoder; which these are depends on
/// the file and `at_least` alone. All others, damaged ones among them, are the CPU's.
ImageWindow read_image_window(const std::filesystem::path& file, cv::Size at_least, const cv::Rect2d& needed,
                              int channels = 3, const DeviceDecoding& device = {});

}  // namespace brightnet
