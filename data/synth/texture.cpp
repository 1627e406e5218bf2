#include "data/synth/texture.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <opencv2/imgproc.hpp>

namespace brightnet {
namespace {

Colour from_hsv(float hue, float saturation, float value) {
  const auto channel = [&](float n) {
    const float k = std::fmod(n + hue * 6, 6.0f);
    return 255 * (value - value * saturation * std::clamp(std::min(k, 4 - k), 0.0f, 1.0f));
  };
  return {channel(5), channel(3), channel(1)};
}

/// Smooth noise in [0, 1]: random values on a coarse grid, interpolated.
cv::Mat smooth_noise(Random& random, cv::Size size, int cells) {
  cv::Mat grid(cells, cells, CV_32F);
  for (int y = 0; y < cells; ++y) {
    for (int x = 0; x < cells; ++x) grid.at<float>(y, x) = random.uniform();
  }
  cv::Mat noise;
  cv::resize(grid, noise, size, 0, 0, cv::INTER_CUBIC);
  return cv::min(cv::max(noise, 0.0), 1.0);
}

/// Noise of several octaves, each of twice the frequency and half the weight of the one before.
cv::Mat cloud(Random& random, cv::Size size) {
  cv::Mat sum = cv::Mat::zeros(size, CV_32F);
  float weight = 0.5f;
  int cells = 3 + static_cast<int>(random.below(4));
  for (int octave = 0; octave < 4; ++octave, weight /= 2, cells *= 2)
    sum += weight * smooth_noise(random, size, cells);
  return sum;
}

/// Waves along a random direction, bent by noise: wood, cloth, ripples.
cv::Mat waves(Random& random, cv::Size size) {
  const float angle = random.uniform(0, std::numbers::pi_v<float>);
  const float frequency = random.uniform(4, 22) * 2 * std::numbers::pi_v<float> / size.width;
  const float bend = random.uniform(0, 6);
  cv::Mat field = smooth_noise(random, size, 4);
  for (int y = 0; y < size.height; ++y) {
    float* row = field.ptr<float>(y);
    for (int x = 0; x < size.width; ++x) {
      const float along = std::cos(angle) * x + std::sin(angle) * y;
      row[x] = 0.5f + 0.5f * std::sin(frequency * along + bend * row[x]);
    }
  }
  return field;
}

/// A grid of rectangles, each of its own tone: tiles, windows, bricks.
cv::Mat tiles(Random& random, cv::Size size) {
  cv::Mat tones(3 + static_cast<int>(random.below(8)), 3 + static_cast<int>(random.below(8)), CV_32F);
  for (int y = 0; y < tones.rows; ++y) {
    for (int x = 0; x < tones.cols; ++x) tones.at<float>(y, x) = random.uniform();
  }
  cv::Mat field;
  cv::resize(tones, field, size, 0, 0, cv::INTER_NEAREST);
  return field;
}

}  // namespace

Colour any_colour(Random& random) {
  const float hue = random.uniform();
  const float saturation = std::sqrt(random.uniform());
  return from_hsv(hue, saturation, random.uniform(0.15f, 1.0f));
}

Colour mixed(const Colour& a, const Colour& b, float t) {
  return a * (1 - t) + b * t;
}

cv::Mat texture(Random& random, cv::Size size) {
  switch (random.below(4)) {
    case 0: return waves(random, size);
    case 1: return tiles(random, size);
    default: return cloud(random, size);
  }
}

cv::Mat coloured(Random& random, const cv::Mat& field, const Colour& base, float contrast) {
  const Colour other = mixed(base, any_colour(random), contrast);
  cv::Mat pixels(field.size(), CV_32FC3);
  for (int y = 0; y < field.rows; ++y) {
    const float* tone = field.ptr<float>(y);
    auto* out = pixels.ptr<Colour>(y);
    for (int x = 0; x < field.cols; ++x) out[x] = mixed(base, other, tone[x]);
  }
  return pixels;
}

}  // namespace brightnet
