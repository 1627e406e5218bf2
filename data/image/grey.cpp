#include "data/image/grey.h"

#include <opencv2/imgproc.hpp>

namespace brightnet {

void to_grey(const uint8_t* rgb, size_t pixels, uint8_t* grey) {
  // The weights in units of 2⁻¹⁴. Their sum is 1, so that a pixel with R = G = B keeps its value.
  constexpr uint32_t red = 4899, green = 9617, blue = 1868;
  static_assert(red + green + blue == 1 << 14);
  for (size_t i = 0; i < pixels; ++i, rgb += 3)
    grey[i] = static_cast<uint8_t>((red * rgb[0] + green * rgb[1] + blue * rgb[2] + (1 << 13)) >> 14);
}

cv::Mat grey_of(const cv::Mat& rgb) {
  cv::Mat grey(rgb.size(), CV_8UC1);
  for (int y = 0; y < rgb.rows; ++y) to_grey(rgb.ptr(y), static_cast<size_t>(rgb.cols), grey.ptr(y));
  return grey;
}

cv::Mat rgb_of(const uint8_t* pixels, const InputSize& size, int channels) {
  const cv::Mat seen(size.height, size.width, CV_8UC(channels), const_cast<uint8_t*>(pixels));
  if (channels == 3) return seen.clone();
  cv::Mat rgb;
  cv::cvtColor(seen, rgb, cv::COLOR_GRAY2RGB);
  return rgb;
}

}  // namespace brightnet
