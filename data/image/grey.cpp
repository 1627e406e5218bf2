#include "data/image/grey.h"

#include <opencv2/imgproc.hpp>

namespace brightnet {

namespace {

template <size_t at_red>
void weighted_grey(const uint8_t* color, size_t pixels, uint8_t* grey) {
  // The weights in units of 2⁻¹⁴. Their sum is 1, so that a pixel with R = G = B keeps its value.
  constexpr uint32_t red = 4899, green = 9617, blue = 1868;
  static_assert(red + green + blue == 1 << 14);
  for (size_t i = 0; i < pixels; ++i, color += 3) {
    grey[i] = static_cast<uint8_t>(
        (red * color[at_red] + green * color[1] + blue * color[2 - at_red] + (1 << 13)) >> 14);
  }
}

}  // namespace

void to_grey(const uint8_t* rgb, size_t pixels, uint8_t* grey) {
  weighted_grey<0>(rgb, pixels, grey);
}

cv::Mat grey_of(const cv::Mat& color, bool bgr) {
  cv::Mat grey(color.size(), CV_8UC1);
  const auto convert = bgr ? weighted_grey<2> : weighted_grey<0>;
  for (int y = 0; y < color.rows; ++y) convert(color.ptr(y), static_cast<size_t>(color.cols), grey.ptr(y));
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
