#include "detect/quantization/histogram.h"

#include <algorithm>

namespace brightnet {

void Histogram::widen(std::span<const float> values) {
  float least = least_, most = most_;
#pragma omp simd reduction(min : least) reduction(max : most)
  for (size_t i = 0; i < values.size(); ++i) {
    least = std::min(least, values[i]);
    most = std::max(most, values[i]);
  }
  least_ = least;
  most_ = most;
}

void Histogram::add(std::span<const float> values) {
  counts_.resize(bins);
  const float per_unit = most_ > least_ ? bins / (most_ - least_) : 0;
  for (const float value : values) {
    const int bin = static_cast<int>((value - least_) * per_unit);
    counts_[std::clamp(bin, 0, bins - 1)] += 1;
  }
}

}  // namespace brightnet
