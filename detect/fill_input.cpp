#include "detect/fill_input.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "data/image/darknet_image.h"
#include "data/image/grey.h"
#include "data/loader/paint.h"

namespace brightnet {

size_t bytes_of_input(const InputFit& fit) {
  const size_t value = as_darknet(fit.resize) ? sizeof(float) : 1;
  return value * fit.channels * fit.size.pixels();
}

cv::Rect covered_by(cv::Size image, const InputFit& fit) {
  const Placement placement = place(image.width, image.height, fit);
  const auto covered = [](float scale, int side) { return static_cast<int>(std::lround(scale * side)); };
  return {static_cast<int>(placement.offset_x), static_cast<int>(placement.offset_y),
          covered(placement.scale_x, image.width), covered(placement.scale_y, image.height)};
}

void InputFiller::resize(const ShownPixels& shown, const InputFit& fit, uint8_t* pixels) {
  const cv::Mat& image = shown.pixels;
  const PixelBlock whole = dense_block(pixels, fit.size.width, fit.size.height, fit.channels);
  const cv::Rect covered = covered_by(shown.size, fit);
  if (covered.area() < fit.size.pixels()) fill(whole);
  const ImageView view{image.data, image.step, image.cols, image.rows,      0,
                       0,          image.cols, image.rows, image.channels()};
  resize_(view, shown.region, block(whole, covered), {});
}

void InputFiller::resize(const ShownPixels& shown, const InputFit& fit, float* values) {
  fill_darknet_input(shown.pixels, fit.size, fit.letterbox, values);
}

/// Each channel is resized by itself, so the channels of the small input are changed, not those of the large image. Only
/// an image that becomes grey is converted first, because then a third is left to resize.
template <typename Value>
void InputFiller::fill_as(const ShownPixels& shown, const InputFit& fit, Value* values) {
  const auto pixels = static_cast<size_t>(fit.size.pixels());
  const int channels = shown.pixels.channels();
  if (channels == fit.channels) {
    resize(shown, fit, values);
    for (size_t i = 0; shown.bgr && i < pixels; ++i) std::swap(values[3 * i], values[3 * i + 2]);
  } else if (fit.channels == 1) {
    ShownPixels grey = shown;
    grey.pixels = grey_of(shown.pixels, shown.bgr);
    resize(grey, fit, values);
  } else {
    InputFit grey = fit;
    grey.channels = 1;
    Value* last_third = values + 2 * pixels;  // each of its values is read before it is overwritten
    resize(shown, grey, last_third);
    for (size_t i = 0; i < pixels; ++i) std::fill_n(values + 3 * i, 3, Value(last_third[i]));
  }
}

void InputFiller::operator()(const ShownPixels& shown, const InputFit& fit, void* input) {
  if (as_darknet(fit.resize)) return fill_as(shown, fit, static_cast<float*>(input));
  fill_as(shown, fit, static_cast<uint8_t*>(input));
}

}  // namespace brightnet
