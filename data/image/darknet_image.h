// Images as darknet puts them before a network, so that weights trained there see here what they saw there.
//
// It differs from this program's own way (data/image/resize_filter.h) in five points, each small and each enough to move
// a detection: JPEG is decoded by stb_image; the resize is bilinear between the corners' pixel centres
// (source x = column · (in − 1)/(out − 1)) and skips pixels when it shrinks; its result is not rounded to 8
// bits; its last row is nearly black for some heights, by rounding; and a letterbox truncates its sides and
// is grey at 0.5. (AlexeyAB/darknet, src/image.c: load_image_stb, resize_image, letterbox_image.)
#pragma once

#include <filesystem>

#include <opencv2/core.hpp>

#include "data/image/placement.h"

namespace brightnet {

/// 8-bit RGB like read_image(), but a JPEG's pixels are stb_image's. What darknet does not do and people
/// expect is done nevertheless: EXIF rotation. Throws ImageError.
cv::Mat read_darknet_image(const std::filesystem::path& file);

/// Fills size × size × 3 values in [0, 1], RGB, with the image resized as darknet resizes it.
void fill_darknet_input(const cv::Mat& image, int size, bool letterbox, float* values);

/// Where darknet takes an image to lie when it maps boxes back. (Half a pixel beside where the letterbox has
/// put it when the margin is odd: that, too, is as in darknet's correct_yolo_boxes.)
Placement place_as_darknet(int image_width, int image_height, int size, bool letterbox);

}  // namespace brightnet
