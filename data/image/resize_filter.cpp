#include "data/image/resize_filter.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "kernels/math/triangle_filter.h"

namespace brightnet {
namespace {

// Four unaligned floats: red, green, blue and the next pixel's red, which is unused.
using Float4 = float __attribute__((vector_size(16), aligned(4)));

double support(double step) {
  return std::max(1.0, std::abs(step));
}

// out = Σ weights[k] · rows[k], two rows per pass to halve the traffic of `out`.
void blend_rows(const uint8_t* top, size_t stride, const float* weights, int taps, size_t count, float* out) {
  while (taps > 1 && weights[0] == 0) ++weights, --taps, top += stride;
  while (taps > 1 && weights[taps - 1] == 0) --taps;
  const uint8_t* a = top;
  if (taps == 1) {
    const float wa = weights[0];
    for (size_t i = 0; i < count; ++i) out[i] = wa * a[i];
    return;
  }
  for (int k = 0; k < taps; k += 2) {
    a = top + k * stride;
    const bool pair = k + 1 < taps;
    const uint8_t* b = pair ? a + stride : a;
    const float wa = weights[k], wb = pair ? weights[k + 1] : 0.0f;
    if (k == 0) {
      for (size_t i = 0; i < count; ++i) out[i] = wa * a[i] + wb * b[i];
    } else {
      for (size_t i = 0; i < count; ++i) out[i] += wa * a[i] + wb * b[i];
    }
  }
}

// Blends the columns of one row into planar channels. A fixed number of taps lets the loop unroll.
template <int fixed_taps>
void blend_columns(const float* row, const ResizeFilter::Taps& columns, float* red, float* green,
                   float* blue) {
  const int taps = fixed_taps ? fixed_taps : columns.count;
  const float* weight = columns.weights.data();
  for (const int first : columns.first) {
    const float* pixel = row + 3 * static_cast<ptrdiff_t>(first - columns.begin);
    Float4 sum{};
    for (int k = 0; k < taps; ++k, pixel += 3) sum += *weight++ * *reinterpret_cast<const Float4*>(pixel);
    *red++ = sum[0];
    *green++ = sum[1];
    *blue++ = sum[2];
  }
}

void blend_columns(const float* row, const ResizeFilter::Taps& columns, float* red, float* green,
                   float* blue) {
  switch (columns.count) {
    case 2: return blend_columns<2>(row, columns, red, green, blue);
    case 3: return blend_columns<3>(row, columns, red, green, blue);
    case 4: return blend_columns<4>(row, columns, red, green, blue);
    default: return blend_columns<0>(row, columns, red, green, blue);
  }
}

// Blends the columns of one grey row, which has one channel.
template <int fixed_taps>
void blend_grey_columns(const float* row, const ResizeFilter::Taps& columns, float* grey) {
  const int taps = fixed_taps ? fixed_taps : columns.count;
  const float* weight = columns.weights.data();
  for (const int first : columns.first) {
    const float* pixel = row + (first - columns.begin);
    float sum = 0;
    for (int k = 0; k < taps; ++k) sum += *weight++ * pixel[k];
    *grey++ = sum;
  }
}

void blend_columns(const float* row, const ResizeFilter::Taps& columns, float* grey) {
  switch (columns.count) {
    case 2: return blend_grey_columns<2>(row, columns, grey);
    case 3: return blend_grey_columns<3>(row, columns, grey);
    case 4: return blend_grey_columns<4>(row, columns, grey);
    default: return blend_grey_columns<0>(row, columns, grey);
  }
}

}  // namespace

void ResizeFilter::Taps::compute(double from, double to, int outputs, int length) {
  const double step = (to - from) / outputs;
  count = TriangleTaps<double>(from, step, 0, length).count;
  first.resize(outputs);
  weights.resize(outputs * static_cast<size_t>(count));
  begin = length;
  end = 0;
  for (int i = 0; i < outputs; ++i) {
    const TriangleTaps<double> taps(from, step, i, length);
    float* weight = weights.data() + i * static_cast<size_t>(count);
    double sum = 0;
    for (int k = 0; k < count; ++k) sum += taps.weight(k);
    for (int k = 0; k < count; ++k) weight[k] = static_cast<float>(taps.weight(k) / sum);
    first[i] = taps.first;
    begin = std::min(begin, taps.first);
    end = std::max(end, taps.first + count);
  }
}

double ResizeFilter::reach(double from, int to) {
  return 2 * support(from / to) + 2;
}

void ResizeFilter::operator()(const ImageView& image, const Region& region, const PixelBlock& out,
                              const ColorChange& color) {
  if (out.width <= 0 || out.height <= 0) return;
  columns_.compute(region.left, region.right, out.width, image.width);
  rows_.compute(region.top, region.bottom, out.height, image.height);
  BRIGHTNET_CHECK(columns_.begin >= image.left && columns_.end <= image.right && rows_.begin >= image.top &&
                      rows_.end <= image.bottom,
                  "the window of the image is too small for what is cut from it");
  BRIGHTNET_CHECK(image.channels == out.channels, "a resize keeps the channels");
  const bool grey = image.channels == 1;
  const size_t values = image.channels * static_cast<size_t>(columns_.end - columns_.begin);
  blended_.resize(values + 1);  // the last pixel of RGB is read with a fourth value
  blended_[values] = 0;
  const size_t width = out.width;
  for (auto* channel : {&red_, &green_, &blue_}) channel->resize(width);

  const uint8_t* corner = image.pixels + image.channels * static_cast<ptrdiff_t>(columns_.begin - image.left);
  for (int y = 0; y < out.height; ++y) {
    const size_t row = y;
    const uint8_t* top = corner + (rows_.first[row] - image.top) * image.stride;
    blend_rows(top, image.stride, rows_.weights.data() + row * rows_.count, rows_.count, values,
               blended_.data());
    if (grey) {
      blend_columns(blended_.data(), columns_, red_.data());
      if (color.changes()) change_exposure(red_.data(), out.width, color);
      store_pixels(red_.data(), out.width, out.pixels + row * out.stride);
      continue;
    }
    blend_columns(blended_.data(), columns_, red_.data(), green_.data(), blue_.data());
    if (color.changes()) change_color(red_.data(), green_.data(), blue_.data(), out.width, color);
    store_pixels(red_.data(), green_.data(), blue_.data(), out.width, out.pixels + row * out.stride);
  }
}

}  // namespace brightnet
