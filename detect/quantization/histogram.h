// The values of a tensor over many images, counted in bins of equal width.
#pragma once

#include <span>
#include <vector>

namespace brightnet {

class Histogram {
 public:
  static constexpr int bins = 4096;

  /// First of all values: their least and greatest, and 0, which every range contains.
  void widen(std::span<const float> values);
  /// Then the same values are counted.
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
