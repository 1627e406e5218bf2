#include "data/image/warp_filter.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"

namespace brightnet {
namespace {

using Bytes16 = uint8_t __attribute__((vector_size(16)));
using Int4 = int32_t __attribute__((vector_size(16)));
using Words4 = uint32_t __attribute__((vector_size(16)));
using Float4 = float __attribute__((vector_size(16)));

// Red, green, blue and the byte after them as floats.
inline Float4 load(const uint8_t* pixel) {
  uint32_t word = 0;
  std::memcpy(&word, pixel, sizeof word);
  const Bytes16 bytes = reinterpret_cast<Bytes16>(Words4{word, 0, 0, 0});
  const Bytes16 spread =
      __builtin_shufflevector(bytes, Bytes16{}, 0, 16, 16, 16, 1, 16, 16, 16, 2, 16, 16, 16, 3, 16, 16, 16);
  return __builtin_convertvector(reinterpret_cast<Int4>(spread), Float4);
}

}  // namespace

// Where the centres of a row's pixels come from.
void WarpFilter::locate(const Homography& to_image, int row, int width) {
  const double at_x = 0.5, at_y = row + 0.5;
  float start[3], step[3];
  for (int i = 0; i < 3; ++i) {
    start[i] = static_cast<float>(to_image(i, 0) * at_x + to_image(i, 1) * at_y + to_image(i, 2));
    step[i] = static_cast<float>(to_image(i, 0));
  }
  float *x = x_.data(), *y = y_.data(), *depth = depth_.data();
#pragma omp simd
  for (int i = 0; i < width; ++i) {
    const float along = static_cast<float>(i);
    const float z = start[2] + step[2] * along;
    x[i] = (start[0] + step[0] * along) / z;
    y[i] = (start[1] + step[1] * along) / z;
    depth[i] = z;
  }
}

// Splits each place into the nearest pixel whose centre lies above and left of it, and the distance from there.
void WarpFilter::split(const ImageView& image, int first, int last) {
  const float last_x = image.width - 1, last_y = image.height - 1;
  float *x = x_.data(), *y = y_.data();
  int *columns = columns_.data(), *rows = rows_.data();
  int left = image.width, right = 0, top = image.height, bottom = 0;
#pragma omp simd reduction(min : left, top) reduction(max : right, bottom)
  for (int i = first; i < last; ++i) {
    float along = x[i] - 0.5f, down = y[i] - 0.5f;
    along = along > 0 ? along : 0;
    along = along < last_x ? along : last_x;
    down = down > 0 ? down : 0;
    down = down < last_y ? down : last_y;
    const int column = static_cast<int>(along), row = static_cast<int>(down);
    columns[i] = column;
    rows[i] = row;
    x[i] = along - static_cast<float>(column);
    y[i] = down - static_cast<float>(row);
    left = column < left ? column : left;
    right = column > right ? column : right;
    top = row < top ? row : top;
    bottom = row > bottom ? row : bottom;
  }
  BRIGHTNET_CHECK(left >= image.left && std::min(right + 2, image.width) <= image.right && top >= image.top &&
                      std::min(bottom + 2, image.height) <= image.bottom,
                  "the window of the image is too small for what is shown of it");
}

void WarpFilter::blend(const ImageView& image, int first, int last) {
  const size_t rows = image.bottom - image.top;
  const uint8_t* end =
      image.pixels + (rows - 1) * image.stride + 3 * static_cast<size_t>(image.right - image.left);
  for (int i = first; i < last; ++i) {
    const size_t at = i;
    const int column = columns_[at], row = rows_[at];
    const size_t right = column + 1 < image.width ? 3 : 0, below = row + 1 < image.height ? image.stride : 0;
    const uint8_t* pixel =
        image.pixels + (row - image.top) * image.stride + 3 * static_cast<size_t>(column - image.left);
    uint8_t lower_end[8] = {};
    const uint8_t* lower = pixel + below;
    if (lower + right + 4 > end) {  // the byte after the image's last pixel must not be read
      std::memcpy(lower_end, lower, 3 + right);
      lower = lower_end;
    }
    const uint8_t* upper = below > 0 ? pixel : lower;
    const Float4 a = load(upper), b = load(upper + right), c = load(lower), d = load(lower + right);
    const Float4 top = a + x_[at] * (b - a), bottom = c + x_[at] * (d - c);
    const Float4 value = top + y_[at] * (bottom - top);
    red_[at] = value[0];
    green_[at] = value[1];
    blue_[at] = value[2];
  }
}

void WarpFilter::blend_grey(const ImageView& image, int first, int last) {
  for (int i = first; i < last; ++i) {
    const size_t at = i;
    const int column = columns_[at], row = rows_[at];
    const size_t right = column + 1 < image.width ? 1 : 0, below = row + 1 < image.height ? image.stride : 0;
    const uint8_t* upper =
        image.pixels + (row - image.top) * image.stride + static_cast<size_t>(column - image.left);
    const uint8_t* lower = upper + below;
    const float a = upper[0], b = upper[right], c = lower[0], d = lower[right];
    const float top = a + x_[at] * (b - a), bottom = c + x_[at] * (d - c);
    red_[at] = top + y_[at] * (bottom - top);
  }
}

void WarpFilter::operator()(const ImageView& image, const Homography& to_image, const cv::Rect2d& bounds,
                            const PixelBlock& out, const ColorChange& color) {
  if (out.width <= 0) return;
  BRIGHTNET_CHECK(image.channels == out.channels, "a warp keeps the channels");
  for (auto* row : {&x_, &y_, &depth_, &red_, &green_, &blue_}) row->resize(static_cast<size_t>(out.width));
  for (auto* row : {&columns_, &rows_}) row->resize(static_cast<size_t>(out.width));
  const float left = static_cast<float>(bounds.x), right = static_cast<float>(bounds.br().x);
  const float top = static_cast<float>(bounds.y), bottom = static_cast<float>(bounds.br().y);
  const auto shown = [&](int i) {
    const size_t at = i;
    return depth_[at] > 0 && x_[at] >= left && x_[at] < right && y_[at] >= top && y_[at] < bottom;
  };
  for (int row = 0; row < out.height; ++row) {
    locate(to_image, row, out.width);
    // The image is convex, and so is what a row shows of it.
    int first = 0, last = out.width;
    while (first < last && !shown(first)) ++first;
    while (last > first && !shown(last - 1)) --last;
    if (first < last) split(image, first, last);
    uint8_t* pixels = out.pixels + row * out.stride;
    const auto bytes = [&](int count) { return out.channels * static_cast<size_t>(count); };
    std::memset(pixels, fill_value, bytes(first));
    std::memset(pixels + bytes(last), fill_value, bytes(out.width - last));
    if (out.channels == 1) {
      blend_grey(image, first, last);
      if (color.changes()) change_exposure(red_.data() + first, last - first, color);
      store_pixels(red_.data() + first, last - first, pixels + first);
      continue;
    }
    blend(image, first, last);
    float *red = red_.data() + first, *green = green_.data() + first, *blue = blue_.data() + first;
    if (color.changes()) change_color(red, green, blue, last - first, color);
    store_pixels(red, green, blue, last - first, pixels + bytes(first));
  }
}

}  // namespace brightnet
