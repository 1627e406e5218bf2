#include "data/image/color.h"

namespace brightnet {

void change_color(float* __restrict red, float* __restrict green, float* __restrict blue, int count,
                  const ColorChange& change) {
  const ColorChange same = change;  // a copy that the loop knows nobody writes to
#pragma omp simd
  for (int i = 0; i < count; ++i) change_pixel_color(red[i], green[i], blue[i], same);
}

void change_exposure(float* grey, int count, const ColorChange& change) {
  const ColorChange same = change;
#pragma omp simd
  for (int i = 0; i < count; ++i) grey[i] = exposed_grey(grey[i], same);
}

void store_pixels(const float* __restrict grey, int count, uint8_t* __restrict out) {
#pragma omp simd
  for (int i = 0; i < count; ++i) out[i] = rounded_value(grey[i]);
}

void store_pixels(const float* __restrict red, const float* __restrict green, const float* __restrict blue,
                  int count, uint8_t* __restrict out) {
#pragma omp simd
  for (int i = 0; i < count; ++i) {
    out[3 * i] = rounded_value(red[i]);
    out[3 * i + 1] = rounded_value(green[i]);
    out[3 * i + 2] = rounded_value(blue[i]);
  }
}

}  // namespace brightnet
