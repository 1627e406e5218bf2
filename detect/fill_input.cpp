#include "detect/fill_input.h"

#include <algorithm>
#include <cmath>

#include "data/image/darknet_image.h"
#include "data/image/grey.h"
#include "data/loader/paint.h"

namespace brightnet {
namespace {

void place_image(const cv::Mat& image, const InputFit& fit, uint8_t* pixels, ResizeFilter& resize) {
  const PixelBlock whole = dense_block(pixels, fit.size.width, fit.size.height, fit.channels);
  std::fill(pixels, pixels + values_of_input(fit), fill_value);
  const Placement placement = place(image.cols, image.rows, fit);
  const int left = static_cast<int>(placement.offset_x), top = static_cast<int>(placement.offset_y);
  const PixelBlock shown = block(
      whole, {left, top, static_cast<int>(std::lround(placement.scale_x * static_cast<float>(image.cols))),
              static_cast<int>(std::lround(placement.scale_y * static_cast<float>(image.rows)))});
  const ImageView view{image.data, image.step, image.cols, image.rows,      0,
                       0,          image.cols, image.rows, image.channels()};
  resize(view, {0, 0, static_cast<double>(image.cols), static_cast<double>(image.rows)}, shown, {});
}

}  // namespace

size_t values_of_input(const InputFit& fit) {
  return static_cast<size_t>(fit.channels) * static_cast<size_t>(fit.size.pixels());
}

void InputFiller::operator()(const cv::Mat& picture, const InputFit& fit, uint8_t* pixels) {
  place_image(fit.channels == 1 ? grey_of(picture) : picture, fit, pixels, resize_);
}

void InputFiller::operator()(const cv::Mat& picture, const InputFit& fit, float* values) {
  // The resizing takes whole images: a part of one has the rows of the whole.
  const cv::Mat whole = fit.channels == 1        ? grey_of(picture)
                        : picture.isContinuous() ? picture
                                                 : picture.clone();
  fill_darknet_input(whole, fit.size, fit.letterbox, values);
}

}  // namespace brightnet
