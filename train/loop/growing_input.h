// Progressive resizing (train.grow): training begins with small inputs, which take a fraction of the time, and ends
// with the full size. A network learns what objects look like on few pixels, and where their edges are on many.
#pragma once

#include <cstdint>
#include <vector>

#include "train/config/config.h"
#include "train/loop/run_length.h"

namespace brightnet {

class GrowingInput {
 public:
  explicit GrowingInput(const RunConfig& config);

  /// Whether the input grows. Otherwise it is constant, or drawn from train.sizes.
  bool active() const { return grow_ > 0 && sizes_.size() > 1; }
  /// For each size but the smallest the step from which it is used: the sizes have equal parts of the first
  /// `grow` of the run, as long as it was planned to be. A later plan moves only the steps ahead of it.
  std::vector<int64_t> boundaries(const RunLength& length, const std::vector<Plan>& plans) const;
  /// How many steps of the largest size take as long as the steps [from, to).
  double work(int64_t from, int64_t to, const std::vector<int64_t>& boundaries) const;
  /// The least part of the largest size's work that a step takes.
  double least_work() const;

 private:
  double work_of(size_t size) const;

  double grow_;
  std::vector<InputSize> sizes_;  ///< ascending
};

}  // namespace brightnet
