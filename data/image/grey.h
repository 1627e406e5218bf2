// Conversions between RGB and grey, for networks with one channel.
#pragma once

#include <cstddef>
#include <cstdint>

#include <opencv2/core.hpp>

#include "core/input_size.h"

namespace brightnet {

/// Luma of ITU-R BT.601, 0.299 R + 0.587 G + 0.114 B, rounded as by OpenCV's cvtColor. The
/// grey pixels of an RGB image (R = G = B) keep their value exactly. `grey` has one byte a pixel.
void to_grey(const uint8_t* rgb, size_t pixels, uint8_t* grey);
/// The grey image of an 8-bit RGB image, or with `bgr` of a BGR one, by the formula of to_grey().
cv::Mat grey_of(const cv::Mat& color, bool bgr = false);

/// The pixels of a network's input, RGB or grey, as an RGB image of its own.
cv::Mat rgb_of(const uint8_t* pixels, const InputSize& size, int channels);

}  // namespace brightnet
