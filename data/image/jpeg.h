// JPEG through libjpeg. OpenCV decodes a truncated or damaged JPEG to grey bars, prints a warning
// and returns success; this reports it to the caller. It also avoids OpenCV's conversion to BGR and back. Where there is no
// memory, which says nothing about the file, these throw std::bad_alloc.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

namespace brightnet {

struct JpegResult {
  enum class State {
    whole,      ///< every pixel was decoded
    damaged,    ///< the data ends early or is corrupt: some pixels are invalid
    unreadable  ///< no JPEG that libjpeg can read; `image` is empty
  };
  State state = State::unreadable;
  std::string message;  ///< libjpeg's message when the state is not whole
  cv::Mat image;        ///< 8-bit RGB or grey, not rotated
};

/// The reduction at which a JPEG of the size `stored` still has `at_least` on both sides: 8, 4, 2 or 1, which
/// an empty `at_least` asks for. The decoded sides are rounded up, and the last pixels are in part beyond the image, which
/// is stretched by that: where this would shift its far edge by more than half a pixel of `at_least`, it is reduced less.
int jpeg_reduction(cv::Size stored, cv::Size at_least);

/// Decodes at 1/`denominator` of the size (1, 2, 4 or 8; sides rounded up). Grey is copied to all channels; with
/// `channels` 1 the image is grey, of a coloured file its luma, and its colours are not decoded. CMYK and YCCK are read
/// inverted, as Adobe writes them, the only kind in use. A missing end marker after the last pixel is not damage. With a
/// `window` (in pixels of the decoded size) only that part is decoded, with the same pixels as in the whole image: the
/// file is read up to the window's last row, and the inverse transform, upsampling and colour conversion, most of the
/// cost, are done for the window only. Damage below it is not detected.
JpegResult decode_jpeg(std::span<const uint8_t> bytes, int denominator, cv::Rect window = {},
                       int channels = 3);

/// Whether all of the file's data can be read, which takes about half the time of decoding it: nothing is transformed.
bool jpeg_is_whole(std::span<const uint8_t> bytes);

/// Encodes 8-bit RGB at a quality of 0 to 100, to the bytes that OpenCV writes. Throws InputError for more than 65,500 pixels on
/// a side, which JPEG does not have.
std::vector<uint8_t> encode_jpeg(const cv::Mat& rgb, int quality);

}  // namespace brightnet
