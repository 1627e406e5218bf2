#include "data/image/perceptual_hash.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include <opencv2/imgproc.hpp>

namespace brightnet {
namespace {

constexpr int side = 32;
constexpr int highest = 11;  // above every frequency that is among the 64 lowest
constexpr size_t bits = 64;

struct Frequency {
  int x = 0, y = 0;
};

/// The lowest frequencies in ascending order of x² + y², without (0, 0), which is the mean.
const std::vector<Frequency>& lowest_frequencies() {
  static const std::vector<Frequency> lowest = [] {
    std::vector<Frequency> all;
    for (int y = 0; y < highest; ++y) {
      for (int x = 0; x < highest; ++x) {
        if (x + y > 0) all.push_back({x, y});
      }
    }
    std::stable_sort(all.begin(), all.end(), [](const Frequency& a, const Frequency& b) {
      return a.x * a.x + a.y * a.y < b.x * b.x + b.y * b.y;
    });
    all.resize(bits);
    return all;
  }();
  return lowest;
}

using Cosines = std::array<std::array<double, side>, highest>;

const Cosines& cosines() {
  static const Cosines table = [] {
    Cosines out;
    for (int k = 0; k < highest; ++k) {
      for (int i = 0; i < side; ++i) out[k][i] = std::cos(std::numbers::pi * k * (2 * i + 1) / (2 * side));
    }
    return out;
  }();
  return table;
}

}  // namespace

uint64_t perceptual_hash(const cv::Mat& rgb) {
  cv::Mat small, grey;
  cv::resize(rgb, small, {side, side}, 0, 0, cv::INTER_AREA);
  cv::cvtColor(small, grey, cv::COLOR_RGB2GRAY);
  // The transform by rows, then by columns.
  std::array<std::array<double, side>, highest> rows{};
  for (int y = 0; y < side; ++y) {
    const uint8_t* pixels = grey.ptr(y);
    for (int k = 0; k < highest; ++k) {
      for (int x = 0; x < side; ++x) rows[k][y] += cosines()[k][x] * pixels[x];
    }
  }
  constexpr double rounding = 1e-6;  // a frequency that an image lacks must not have a sign by chance
  uint64_t hash = 0;
  for (const Frequency& at : lowest_frequencies()) {
    double value = 0;
    for (int y = 0; y < side; ++y) value += cosines()[at.y][y] * rows[at.x][y];
    hash = hash << 1 | (value > rounding ? 1 : 0);
  }
  return hash;
}

}  // namespace brightnet
