// JPEG through libjpeg itself. OpenCV decodes a truncated or damaged JPEG into grey bars, says so on stderr
// and returns success; here the caller learns of it. It also saves OpenCV's turn from RGB to BGR and back.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <opencv2/core.hpp>

namespace brightnet {

struct JpegResult {
  enum class State {
    whole,      ///< every pixel was decoded
    damaged,    ///< the data ends early or is corrupt: part of the pixels are made up
    unreadable  ///< not a JPEG that libjpeg knows; `image` is empty
  };
  State state = State::unreadable;
  std::string message;  ///< libjpeg's words where the state is not whole
  cv::Mat image;        ///< 8-bit RGB, not rotated
};

/// The reduction at which a JPEG of the size `stored` still has `at_least` on both sides: 8, 4, 2 or 1, which
/// an empty `at_least` asks for.
int jpeg_reduction(cv::Size stored, cv::Size at_least);

/// Decodes at 1/`denominator` of the size (1, 2, 4 or 8; sides rounded up). Grey is spread over the channels;
/// CMYK and YCCK are read as Adobe writes them, inverted, since that is the only kind to be met.
/// A lone missing end marker after all the pixels is not damage.
/// With a `window` (of the decoded size, inside it) only that part is made, with the same pixels as in the
/// whole image: the file is read as far as the window's last row, and the inverse transform, upsampling and
/// colour conversion, most of the cost, are done for the window alone. Damage further down goes unnoticed.
JpegResult decode_jpeg(std::span<const uint8_t> bytes, int denominator, cv::Rect window = {});

}  // namespace brightnet
