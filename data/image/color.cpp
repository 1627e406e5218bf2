#include "data/image/color.h"

namespace brightnet {
namespace {

inline float smaller(float a, float b) {
  return a < b ? a : b;
}
inline float larger(float a, float b) {
  return a > b ? a : b;
}
inline float magnitude(float a) {
  return a < 0 ? -a : a;
}
inline float unit(float a) {
  return smaller(larger(a, 0.0f), 1.0f);
}

}  // namespace

// RGB → HSV → RGB without branches, so that it vectorizes. With value V = max, chroma
// C = max − min and the hue h in sextants, RGB = V − C·(1 − f) where f is a trapezoid of h for each channel:
// |h − 3| − 1 for red, 2 − |h − 2| for green, 2 − |h − 4| for blue, each clamped to [0, 1].
void change_color(float* __restrict red, float* __restrict green, float* __restrict blue, int count,
                  const ColorChange& change) {
  constexpr float tiny = 1e-6f;  // avoids division by zero; grey and black have no hue
  const float turn = 6 * change.hue, saturation = change.saturation, exposure = change.exposure;
#pragma omp simd
  for (int i = 0; i < count; ++i) {
    const float r = red[i], g = green[i], b = blue[i];
    const float value = larger(r, larger(g, b));
    const float chroma = value - smaller(r, smaller(g, b));
    const float scale = 1 / larger(chroma, tiny);
    const float from_red = (g - b) * scale, from_green = 2 + (b - r) * scale, from_blue = 4 + (r - g) * scale;
    const float other = value == g ? from_green : from_blue;
    float hue = (value == r ? from_red : other) + turn;
    hue = hue < 0 ? hue + 6 : hue;
    hue = hue >= 6 ? hue - 6 : hue;
    const float new_value = smaller(value * exposure, 255.0f);
    const float new_chroma = new_value * smaller(saturation * chroma / larger(value, tiny), 1.0f);
    red[i] = new_value - new_chroma * (1 - unit(magnitude(hue - 3) - 1));
    green[i] = new_value - new_chroma * (1 - unit(2 - magnitude(hue - 2)));
    blue[i] = new_value - new_chroma * (1 - unit(2 - magnitude(hue - 4)));
  }
}

void change_exposure(float* grey, int count, const ColorChange& change) {
  const float exposure = change.exposure;
#pragma omp simd
  for (int i = 0; i < count; ++i) grey[i] = smaller(grey[i] * exposure, 255.0f);
}

void store_pixels(const float* __restrict grey, int count, uint8_t* __restrict out) {
#pragma omp simd
  for (int i = 0; i < count; ++i) out[i] = static_cast<uint8_t>(static_cast<int>(grey[i] + 0.5f));
}

void store_pixels(const float* __restrict red, const float* __restrict green, const float* __restrict blue,
                  int count, uint8_t* __restrict out) {
#pragma omp simd
  for (int i = 0; i < count; ++i) {
    out[3 * i] = static_cast<uint8_t>(static_cast<int>(red[i] + 0.5f));
    out[3 * i + 1] = static_cast<uint8_t>(static_cast<int>(green[i] + 0.5f));
    out[3 * i + 2] = static_cast<uint8_t>(static_cast<int>(blue[i] + 0.5f));
  }
}

}  // namespace brightnet
