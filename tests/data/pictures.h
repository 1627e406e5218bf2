// Pictures for tests that look different from one another, as photographs do.
#pragma once

#include <vector>

#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include "core/random.h"

namespace brightnet {

/// Soft random colours with a fine texture over them; RGB.
inline cv::Mat picture(uint64_t seed, int width = 160, int height = 120) {
  Random random(seed, Purpose::test);
  cv::Mat coarse(7, 9, CV_8UC3), out;
  for (auto& pixel : cv::Mat_<cv::Vec3b>(coarse)) {
    for (int c = 0; c < 3; ++c) pixel[c] = static_cast<uint8_t>(20 + random.below(200));
  }
  cv::resize(coarse, out, {width, height}, 0, 0, cv::INTER_CUBIC);
  for (auto& pixel : cv::Mat_<cv::Vec3b>(out)) {
    const int grain = static_cast<int>(random.below(21)) - 10;
    for (int c = 0; c < 3; ++c) pixel[c] = cv::saturate_cast<uint8_t>(pixel[c] + grain);
  }
  return out;
}

inline std::vector<uint8_t> jpeg_of(const cv::Mat& rgb, int quality = 95) {
  cv::Mat bgr;
  cv::cvtColor(rgb, bgr, cv::COLOR_RGB2BGR);
  std::vector<uint8_t> bytes;
  cv::imencode(".jpg", bgr, bytes, {cv::IMWRITE_JPEG_QUALITY, quality});
  return bytes;
}

inline cv::Mat halved(const cv::Mat& image) {
  cv::Mat out;
  cv::resize(image, out, {}, 0.5, 0.5, cv::INTER_AREA);
  return out;
}

}  // namespace brightnet
