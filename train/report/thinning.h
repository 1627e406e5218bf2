// Keeps what a run adds to its TensorBoard events within a number of bytes, however long the run is.
#pragma once

#include <cstddef>
#include <cstdint>

namespace brightnet {

/// Lets through the first of a series, later every second, every fourth and so on: the interval doubles with
/// each eighth of the budget that is spent, and nothing is let through once it is all spent.
class Thinning {
 public:
  /// `spent`: bytes that an earlier process has spent.
  explicit Thinning(size_t budget, size_t spent = 0) : budget_(budget), spent_(spent) {}

  /// Whether the next of the series, which may take up to `largest` bytes, is let through.
  bool next(size_t largest) {
    if (++waited_ < interval() || spent_ + largest > budget_) return false;
    waited_ = 0;
    return true;
  }
  /// Counts the bytes of the one that was let through.
  void spend(size_t bytes) { spent_ += bytes; }
  int64_t interval() const { return int64_t{1} << (8 * spent_ / budget_); }

 private:
  size_t budget_, spent_;
  /// The first is let through.
  int64_t waited_ = int64_t{1} << 8;
};

}  // namespace brightnet
