// Pictures that a device paints itself: a batch's images, resampled, coloured and put together as the loader drew it
// (data/loader/placed_image.h). A picture is a list of strokes, each of which changes a rectangle of it. A pixel depends
// on its own list alone, so a thread takes a pixel through all strokes, and nothing is stored in between.
//
// The formulas are those of data/image/resize_filter.h and warp_filter.h, in fp32 instead of doubles for places: the
// pixels are the same within one of 255 levels, but where a place lies on the edge of what an image shows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/alignment.h"
#include "kernels/math/color.h"
#include "kernels/math/triangle_filter.h"

namespace brightnet {

/// How a rectangle of the input shows an image.
enum class Sampling : uint8_t {
  straight,  ///< resized, with fill_value around it
  turned,    ///< resized with x and y exchanged
  warped,    ///< bilinear at places of a homography, in the image itself
  reduced    ///< bilinear at places of a homography, in what resizing makes of the image
};

/// How a stroke goes together with the pixels that were there before.
enum class Blend : uint8_t {
  replace,
  half,  ///< the mean of both, rounded up
  soft   ///< the earlier pixels show through around a box, by soft_weight()
};

struct Stroke {
  // In pixels of the picture.
  int left = 0, top = 0, right = 0, bottom = 0;  ///< rectangle that the stroke changes
  int origin_x = 0, origin_y = 0;                ///< place where the coordinates below begin
  Sampling sampling = Sampling::straight;
  Blend blend = Blend::replace;
  bool grey = false;  ///< luminance instead of colours
  ColorChange color;
  float box_left = 0, box_top = 0, box_right = 0, box_bottom = 0, edge = 1;  ///< the box of Blend::soft

  // Resizing: the outputs that show the image (none: all is fill_value), and what they show of it.
  int shown_left = 0, shown_top = 0, shown_right = 0, shown_bottom = 0;
  float from_x = 0, step_x = 1, from_y = 0, step_y = 1;

  // Warping: (x, y, 1) to pixels of the image, or of the one that resizing makes, whose size is given then; what of it
  // is shown.
  float to_image[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  float bounds_left = 0, bounds_top = 0, bounds_right = 0, bounds_bottom = 0;
  int reduced_width = 0, reduced_height = 0;

  // The image: its size, and the window of it whose pixels begin at byte `at`, row after row.
  int width = 0, height = 0;
  int window_left = 0, window_top = 0, window_width = 0;
  uint64_t at = 0;
};

/// Where a batch's pictures lie in one block of memory: how many strokes each has, the strokes, and the images' pixels.
struct PictureLayout {
  int pictures = 0;
  int most_strokes = 0;  ///< strokes of a picture, at most
  size_t room = 0;       ///< bytes for the pixels of a picture's images, on average

  size_t strokes_at() const { return aligned(pictures * sizeof(int)); }
  size_t pixels_at() const {
    return aligned(strokes_at() + pictures * static_cast<size_t>(most_strokes) * sizeof(Stroke));
  }
  size_t bytes() const { return pixels_at() + pictures * room; }
  bool operator==(const PictureLayout&) const = default;
};

/// Bytes of images that cross the bus for one byte of a picture, at most. What shows more, such as a large photograph
/// in a small input, is painted by the CPU.
constexpr size_t most_image_bytes = 4;

inline PictureLayout picture_layout(int pictures, int height, int width, int channels, int most_strokes) {
  const size_t painted = height * static_cast<size_t>(width) * channels;
  return {pictures, most_strokes, most_image_bytes * painted};
}

/// A batch's pictures in the host's memory.
struct Pictures {
  const std::byte* data = nullptr;
  size_t bytes = 0;  ///< bytes of the layout that are used, from its beginning on
  PictureLayout layout;
};

/// How much an object counts at a pixel along one axis: fully from half a pixel inside its box on, and less over `edge`
/// pixels outside.
BRIGHTNET_HD float soft_weight(int pixel, float low, float high, float edge) {
  const float centre = pixel + 0.5f;
  const float outside = color_math::larger(low - centre, centre - high);
  return color_math::unit(1 - outside / edge);
}

BRIGHTNET_HD uint8_t soft_blend(uint8_t before, uint8_t own, float share) {
  return rounded_value(before + share * (own - static_cast<float>(before)));
}

BRIGHTNET_HD uint8_t half_blend(uint8_t before, uint8_t own) {
  return static_cast<uint8_t>((before + own + 1) / 2);
}

/// Output (u, v) of a resized image; false where it shows none.
template <int channels>
BRIGHTNET_HD bool resized_pixel(const Stroke& s, const uint8_t* images, int u, int v, float* value) {
  if (u < s.shown_left || u >= s.shown_right || v < s.shown_top || v >= s.shown_bottom) return false;
  const TriangleTaps<float> columns(s.from_x, s.step_x, u - s.shown_left, s.width);
  const TriangleTaps<float> rows(s.from_y, s.step_y, v - s.shown_top, s.height);
  const size_t row_bytes = static_cast<size_t>(s.window_width) * channels;
  const uint8_t* row = images + s.at + (rows.first - s.window_top) * row_bytes +
                       static_cast<size_t>(columns.first - s.window_left) * channels;
  float sums[channels] = {}, weights = 0;
  for (int r = 0; r < rows.count; ++r, row += row_bytes) {
    const float down = rows.weight(r);
    const uint8_t* pixel = row;
    for (int k = 0; k < columns.count; ++k, pixel += channels) {
      const float weight = down * columns.weight(k);
      weights += weight;
      for (int c = 0; c < channels; ++c) sums[c] += weight * pixel[c];
    }
  }
  for (int c = 0; c < channels; ++c) value[c] = sums[c] / weights;
  return true;
}

/// A pixel of the image that is warped.
template <int channels>
BRIGHTNET_HD void warped_source(const Stroke& s, const uint8_t* images, int column, int row, float* value) {
  if (s.sampling == Sampling::reduced) {
    const bool shown = resized_pixel<channels>(s, images, column, row, value);
    for (int c = 0; c < channels; ++c) value[c] = shown ? rounded_value(value[c]) : fill_value;
    return;
  }
  const uint8_t* pixel =
      images + s.at +
      ((row - s.window_top) * static_cast<size_t>(s.window_width) + (column - s.window_left)) * channels;
  for (int c = 0; c < channels; ++c) value[c] = pixel[c];
}

template <int channels>
BRIGHTNET_HD bool warped_pixel(const Stroke& s, const uint8_t* images, int u, int v, float* value) {
  const float at_x = u + 0.5f, at_y = v + 0.5f;
  const float* const m = s.to_image;
  const float depth = m[6] * at_x + m[7] * at_y + m[8];
  const float x = (m[0] * at_x + m[1] * at_y + m[2]) / depth, y = (m[3] * at_x + m[4] * at_y + m[5]) / depth;
  if (!(depth > 0 && x >= s.bounds_left && x < s.bounds_right && y >= s.bounds_top && y < s.bounds_bottom))
    return false;
  const bool reduced = s.sampling == Sampling::reduced;
  const int last_column = (reduced ? s.reduced_width : s.width) - 1,
            last_row = (reduced ? s.reduced_height : s.height) - 1;
  using namespace color_math;
  const float along = smaller(larger(x - 0.5f, 0.0f), static_cast<float>(last_column));
  const float down = smaller(larger(y - 0.5f, 0.0f), static_cast<float>(last_row));
  const int column = static_cast<int>(along), row = static_cast<int>(down);
  const int right = column < last_column ? column + 1 : column, below = row < last_row ? row + 1 : row;
  float a[channels], b[channels], c[channels], d[channels];
  warped_source<channels>(s, images, column, row, a);
  warped_source<channels>(s, images, right, row, b);
  warped_source<channels>(s, images, column, below, c);
  warped_source<channels>(s, images, right, below, d);
  const float share_x = along - column, share_y = down - row;
  for (int i = 0; i < channels; ++i) {
    const float upper = a[i] + share_x * (b[i] - a[i]), lower = c[i] + share_x * (d[i] - c[i]);
    value[i] = upper + share_y * (lower - upper);
  }
  return true;
}

/// Computes what the stroke itself shows at a pixel.
template <int channels>
BRIGHTNET_HD void stroke_pixel(const Stroke& s, const uint8_t* images, int x, int y, uint8_t* own) {
  const int u = x - s.origin_x, v = y - s.origin_y;
  float value[channels] = {};
  bool shown = false;
  switch (s.sampling) {
    case Sampling::straight: shown = resized_pixel<channels>(s, images, u, v, value); break;
    case Sampling::turned: shown = resized_pixel<channels>(s, images, v, u, value); break;
    case Sampling::warped:
    case Sampling::reduced: shown = warped_pixel<channels>(s, images, u, v, value); break;
  }
  if (shown && s.color.changes()) {
    if constexpr (channels == 3) change_pixel_color(value[0], value[1], value[2], s.color);
    if constexpr (channels == 1) value[0] = exposed_grey(value[0], s.color);
  }
  for (int c = 0; c < channels; ++c) own[c] = shown ? rounded_value(value[c]) : fill_value;
  if constexpr (channels == 3) {
    if (s.grey) own[0] = own[1] = own[2] = luminance(own[0], own[1], own[2]);
  }
}

/// Pixel (x, y) of a picture: zero where no stroke reaches. `images`: where Stroke::at counts from.
template <int channels>
BRIGHTNET_HD void paint_pixel(const Stroke* strokes, int count, const uint8_t* images, int x, int y,
                              uint8_t* out) {
  uint8_t value[channels] = {};
  for (const Stroke* s = strokes; s < strokes + count; ++s) {
    if (x < s->left || x >= s->right || y < s->top || y >= s->bottom) continue;
    uint8_t own[channels];
    stroke_pixel<channels>(*s, images, x, y, own);
    float share = 1;
    if (s->blend == Blend::soft)
      share = soft_weight(x, s->box_left, s->box_right, s->edge) *
              soft_weight(y, s->box_top, s->box_bottom, s->edge);
    for (int c = 0; c < channels; ++c) {
      switch (s->blend) {
        case Blend::replace: value[c] = own[c]; break;
        case Blend::half: value[c] = half_blend(value[c], own[c]); break;
        case Blend::soft: value[c] = soft_blend(value[c], own[c], share); break;
      }
    }
  }
  for (int c = 0; c < channels; ++c) out[c] = value[c];
}

/// One row of a picture, on the host.
inline void paint_row(const Pictures& pictures, int picture, int row, int width, int channels, uint8_t* out) {
  const PictureLayout& layout = pictures.layout;
  const int count = reinterpret_cast<const int*>(pictures.data)[picture];
  const Stroke* strokes = reinterpret_cast<const Stroke*>(pictures.data + layout.strokes_at()) +
                          picture * static_cast<size_t>(layout.most_strokes);
  const auto* images = reinterpret_cast<const uint8_t*>(pictures.data + layout.pixels_at());
  for (int x = 0; x < width; ++x, out += channels)
    channels == 3 ? paint_pixel<3>(strokes, count, images, x, row, out)
                  : paint_pixel<1>(strokes, count, images, x, row, out);
}

}  // namespace brightnet
