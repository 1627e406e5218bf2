#include "train/loop/growing_input.h"

#include <algorithm>

namespace brightnet {

GrowingInput::GrowingInput(const RunConfig& config)
    : grow_(config.train.grow.value_or(0)), sizes_(config.input_sizes()) {}

std::vector<int64_t> GrowingInput::boundaries(const RunLength& length, const std::vector<Plan>& plans) const {
  std::vector<int64_t> steps;
  if (!active()) return steps;
  const auto parts = static_cast<double>(sizes_.size() - 1);
  for (size_t i = 1; i < sizes_.size(); ++i)
    steps.push_back(length.last_part(1 - grow_ * static_cast<double>(i) / parts, plans));
  return steps;
}

double GrowingInput::work(int64_t from, int64_t to, const std::vector<int64_t>& boundaries) const {
  double sum = 0;
  for (size_t i = 0; i < boundaries.size(); ++i) {
    const int64_t end = std::clamp(boundaries[i], from, to);
    sum += work_of(i) * static_cast<double>(end - from);
    from = end;
  }
  return sum + static_cast<double>(to - from);
}

double GrowingInput::least_work() const {
  return active() ? work_of(0) : 1;
}

/// Convolutions take nearly all of a step, in proportion to the pixels.
double GrowingInput::work_of(size_t size) const {
  const InputSize& largest = sizes_.back();
  return static_cast<double>(sizes_[size].height) / largest.height *
         (static_cast<double>(sizes_[size].width) / largest.width);
}

}  // namespace brightnet
