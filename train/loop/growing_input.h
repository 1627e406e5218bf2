// Progressive resizing (train.grow): training begins with small inputs, which take a fraction of the time, and ends
// with the full size. A network learns what objects look like on few pixels, and where their edges are on many.
//
// Evaluations are at the size that is trained: a network that has seen 224 pixels finds next to nothing at 416. Their
// scores are comparable within one size only; the run's best weights are those of the last one.
#pragma once

#include <cstdint>
#include <vector>

#include "train/config/config.h"
#include "train/loop/length.h"

namespace brightnet {

class GrowingInput {
 public:
  explicit GrowingInput(const RunConfig& config);

  /// Whether the input grows. Otherwise it is constant, or drawn from train.sizes.
  bool active() const { return grow_ > 0 && sizes_.size() > 1; }
  /// Returns for each size but the smallest the step from which it is used: the sizes have equal parts of the first
  /// `grow` of the run, as long as it was planned to be. A later plan moves only the steps ahead of it, and a size that
  /// has been reached stays.
  std::vector<int64_t> boundaries(const RunLength& length, const Progress& progress) const;
  /// How many steps of the largest size take as long as the steps [from, to).
  double work(int64_t from, int64_t to, const std::vector<int64_t>& boundaries) const;
  /// The least part of the largest size's work that a step takes.
  double least_work() const;

  /// The place of a size in the order of growth, for Progress::input_stage; 0 for an input that does not grow.
  int stage_of(const InputSize& size) const;
  int last_stage() const { return active() ? static_cast<int>(sizes_.size()) - 1 : 0; }
  bool full(const Progress& progress) const { return progress.input_stage >= last_stage(); }
  /// The size that evaluations have now: evaluate.size where the input has its full size.
  InputSize evaluation_size(const Progress& progress) const;
  /// The part of a full evaluation's work that one takes now.
  double evaluation_work(const Progress& progress) const;

  /// The sizes before the last one, at which a growing run evaluates.
  std::vector<InputSize> smaller_sizes() const;

 private:
  double work_of(size_t size) const;

  double grow_;
  std::vector<InputSize> sizes_;  ///< ascending
  InputSize evaluation_size_;
};

}  // namespace brightnet
