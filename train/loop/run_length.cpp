#include "train/loop/run_length.h"

#include <algorithm>

namespace brightnet {
namespace {

/// Automatic epochs fill train.minutes: more than any plan, until there is one.
int64_t epochs_of(const TrainOptions& train) {
  constexpr int most = 1'000'000;
  return train.minutes > 0 ? train.epochs.value_or(most) : train.epochs.value();
}

int64_t divided_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

RunLength::RunLength(const TrainOptions& train, int64_t images)
    : steps_per_epoch_(divided_up(images, train.batch)),
      steps_(train.iterations > 0 ? train.iterations : epochs_of(train) * steps_per_epoch_) {}

void RunLength::resume(const TrainOptions& train, Progress& progress) {
  progress.step = std::min(progress.step, static_cast<uint64_t>(steps_per_epoch_));
  if (progress.planned > 0) {
    steps_ = progress.planned;
  } else if (train.iterations == 0) {
    const auto step = static_cast<int64_t>(progress.step), epoch = static_cast<int64_t>(progress.epoch);
    steps_ = progress.iteration - step + std::max<int64_t>(0, epochs_of(train) - epoch) * steps_per_epoch_;
  }
}

int64_t RunLength::epochs(const Progress& progress) const {
  const auto done = static_cast<int64_t>(progress.epoch), step = static_cast<int64_t>(progress.step);
  return done + divided_up(steps_ - (progress.iteration - step), steps_per_epoch_);
}

}  // namespace brightnet
