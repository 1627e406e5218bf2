// Images as darknet prepares them, so that weights trained there get the same input here.
//
// It differs from data/image/resize_filter.h in five points, each small but enough to move a detection: JPEG
// is decoded by stb_image; the resize is bilinear between the corners' pixel centres (source x = column · (in
// − 1)/(out − 1)) and skips pixels when it shrinks; its result is not rounded to 8 bits; its last row is
// nearly black for some heights, by rounding; and a letterbox truncates its sides and is grey at 0.5.
// (AlexeyAB/darknet, src/image.c: load_image_stb, resize_image, letterbox_image.)
#pragma once

#include <filesystem>

#include <opencv2/core.hpp>

#include "data/image/placement.h"
#include "data/image/read_image.h"

namespace brightnet {

/// 8-bit RGB, or with one channel grey, like read_image(), but JPEG is decoded by stb_image. Unlike darknet, applies the
/// EXIF rotation. Throws ImageError.
cv::Mat read_darknet_image(const std::filesystem::path& file, int channels = 3,
                           uint64_t max_pixels = any_pixels);

/// Fills height × width × channels values in [0, 1], as many channels as the image has, with the image resized as
/// darknet resizes it.
void fill_darknet_input(const cv::Mat& image, const InputSize& size, bool letterbox, float* values);

/// The placement that darknet uses to map boxes back. (Half a pixel off the letterbox when the margin is odd,
/// as in darknet's correct_yolo_boxes.)
Placement place_as_darknet(int image_width, int image_height, const InputSize& size, bool letterbox);

}  // namespace brightnet
