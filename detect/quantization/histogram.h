// The values of a tensor over many images, counted in bins of equal width.
#pragma once

#include <span>
#include <vector>

namespace brightnet {

class Histogram {
 public:
  static constexpr int bins = 4096;

  /// The first pass over all values: it finds their least and greatest, and 0, which every range contains.
  void widen(std::span<const float> values);
  /// The second pass, over the same values: it counts them.
  void add(std::span<const float> values);

  float least() const { return least_; }
  float most() const { return most_; }
  const std::vector<double>& counts() const { return counts_; }
  float width() const { return (most_ - least_) / bins; }
  /// The middle of a bin.
  float value(int bin) const { return least_ + (bin + 0.5f) * width(); }

 private:
  float least_ = 0, most_ = 0;
  std::vector<double> counts_;
};

}  // namespace brightnet
