#include "train/loop/growing_input.h"

#include <algorithm>

namespace brightnet {

GrowingInput::GrowingInput(const RunConfig& config)
    : grow_(config.train.grow.value_or(0)),
      sizes_(config.input_sizes()),
      evaluation_size_(config.evaluation_size()) {}

std::vector<int64_t> GrowingInput::boundaries(const RunLength& length, const Progress& progress) const {
  std::vector<int64_t> steps;
  for (int stage = 1; stage <= last_stage(); ++stage) {
    const int64_t planned = length.last_part(1 - grow_ * stage / last_stage(), progress.plans);
    steps.push_back(stage <= progress.input_stage ? std::min(planned, progress.iteration) : planned);
  }
  return steps;
}

double GrowingInput::work(int64_t from, int64_t to, const std::vector<int64_t>& boundaries) const {
  double sum = 0;
  for (size_t i = 0; i < boundaries.size(); ++i) {
    const int64_t end = std::clamp(boundaries[i], from, to);
    sum += work_of(i) * (end - from);
    from = end;
  }
  return sum + (to - from);
}

double GrowingInput::least_work() const {
  return active() ? work_of(0) : 1;
}

/// Convolutions take nearly all of a step, in proportion to the pixels.
double GrowingInput::work_of(size_t size) const {
  return sizes_[size].pixels() / static_cast<double>(sizes_.back().pixels());
}

int GrowingInput::stage_of(const InputSize& size) const {
  if (!active()) return 0;
  return static_cast<int>(std::find(sizes_.begin(), sizes_.end() - 1, size) - sizes_.begin());
}

InputSize GrowingInput::evaluation_size(const Progress& progress) const {
  return full(progress) ? evaluation_size_ : sizes_[progress.input_stage];
}

double GrowingInput::evaluation_work(const Progress& progress) const {
  return full(progress) ? 1 : work_of(static_cast<size_t>(progress.input_stage));
}

std::vector<InputSize> GrowingInput::smaller_sizes() const {
  return active() ? std::vector(sizes_.begin(), sizes_.end() - 1) : std::vector<InputSize>{};
}

}  // namespace brightnet
