#include "data/augment/pixels.h"

#include <algorithm>
#include <vector>

#include <opencv2/imgproc.hpp>

namespace brightnet {
namespace {

constexpr size_t table_size = 1 << 16;

// Normal numbers with a standard deviation of 1. Rows of pixels read it from places of their own, which costs
// a hundredth of drawing a number for each value, and cannot be seen.
const std::vector<float>& normal_numbers() {
  static const std::vector<float> table = [] {
    Random random(0, Purpose::pixels);
    std::vector<float> numbers(table_size);
    for (float& number : numbers) number = random.normal();
    return numbers;
  }();
  return table;
}

void add_noise(uint8_t* __restrict values, size_t count, const float* __restrict noise, float sigma) {
#pragma omp simd
  for (size_t i = 0; i < count; ++i) {
    const float value = static_cast<float>(values[i]) + sigma * noise[i] + 0.5f;
    const float high = value < 255.0f ? value : 255.0f;
    values[i] = static_cast<uint8_t>(static_cast<int>(high > 0.0f ? high : 0.0f));
  }
}

void add_noise(const PixelBlock& block, float sigma, uint32_t seed) {
  const std::vector<float>& table = normal_numbers();
  const size_t values = block.row_bytes();
  for (int y = 0; y < block.height; ++y) {
    const uint32_t row = y;
    size_t at = philox4x32({row, 0, 0, static_cast<uint32_t>(Purpose::pixels)}, {seed, 0})[0] % table_size;
    uint8_t* out = block.pixels + y * block.stride;
    for (size_t done = 0; done < values; at = 0) {
      const size_t count = std::min(values - done, table_size - at);
      add_noise(out + done, count, table.data() + at, sigma);
      done += count;
    }
  }
}

void make_grey(const PixelBlock& block) {
  if (block.channels == 1) return;
  for (int y = 0; y < block.height; ++y) {
    uint8_t* pixel = block.pixels + y * block.stride;
    for (int x = 0; x < block.width; ++x, pixel += 3) {
      pixel[0] = pixel[1] = pixel[2] = luminance(pixel[0], pixel[1], pixel[2]);
    }
  }
}

}  // namespace

bool draws_pixels(const AugmentOptions& options) {
  return options.blur > 0 || options.blur_background > 0 || options.noise > 0 || options.grey > 0;
}

PixelDraw draw_pixels(Random& random, const AugmentOptions& options) {
  // One number decides between the two blurs, so that an image gets one of them at most; from its two ends, so that either
  // blurs the same images without the other.
  const float which = random.uniform();
  const bool blurs_all = which < options.blur;
  const bool blurs = blurs_all || which >= 1 - options.blur_background;
  const ValueRange& sigma = blurs_all ? options.blur_sigma : options.blur_background_sigma;
  const float blur = random.uniform(sigma.low, sigma.high);
  const bool is_noisy = random.chance(options.noise);
  const float noise = random.uniform(options.noise_sigma.low, options.noise_sigma.high);
  const uint32_t noise_seed = random();
  const bool grey = random.chance(options.grey);
  return {blurs ? blur : 0, is_noisy ? noise : 0, grey, noise_seed, blurs && !blurs_all};
}

void change_pixels(const PixelDraw& draw, const PixelBlock& block, std::span<const cv::Rect> objects) {
  if (block.width <= 0 || block.height <= 0) return;
  if (draw.blur > 0) {
    cv::Mat pixels(block.height, block.width, CV_8UC(block.channels), block.pixels, block.stride);
    const cv::Mat sharp = draw.blurs_background ? pixels.clone() : cv::Mat();
    cv::GaussianBlur(pixels, pixels, {}, draw.blur, draw.blur, cv::BORDER_REPLICATE | cv::BORDER_ISOLATED);
    for (const cv::Rect& object : draw.blurs_background ? objects : std::span<const cv::Rect>()) {
      const cv::Rect inside = object & cv::Rect(0, 0, block.width, block.height);
      if (!inside.empty()) sharp(inside).copyTo(pixels(inside));
    }
  }
  if (draw.noise > 0) add_noise(block, draw.noise, draw.noise_seed);
  if (draw.grey) make_grey(block);
}

}  // namespace brightnet
