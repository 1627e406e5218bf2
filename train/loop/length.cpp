#include "train/loop/length.h"

#include <algorithm>

#include "core/division.h"

namespace brightnet {
namespace {

// Tolerates rounding: 0.7 of 10 steps is 7, although 0.7f · 10 is slightly less.
int64_t without_last(double fraction, int64_t steps) {
  return steps - static_cast<int64_t>(fraction * steps + 1e-3);
}

}  // namespace

RunLength::RunLength(const TrainOptions& train, int64_t images)
    : steps_per_epoch_(divided_up(images, train.batch)) {
  // Automatic epochs fill train.minutes.
  const bool unlimited = train.minutes > 0 && !train.epochs.has_value();
  bound_ = train.iterations > 0 ? train.iterations : unlimited ? unbounded : train.epochs * steps_per_epoch_;
  steps_ = bound_;
}

void RunLength::resume(const TrainOptions& train, Progress& progress) {
  progress.step = std::min(progress.step, steps_per_epoch_);
  if (train.iterations == 0 && bounded()) {
    bound_ = progress.iteration - progress.step +
             std::max<int64_t>(0, train.epochs - progress.epoch) * steps_per_epoch_;
  }
  steps_ = progress.plans.empty() ? bound_ : progress.plans.back().steps;
}

bool RunLength::count_epoch(Progress& progress) const {
  if (progress.step < steps_per_epoch_) return false;
  ++progress.epoch;
  progress.step = 0;
  return true;
}

int64_t RunLength::epochs(const Progress& progress) const {
  return progress.epoch + divided_up(steps_ - (progress.iteration - progress.step), steps_per_epoch_);
}

int64_t RunLength::last_part(double fraction, const std::vector<Plan>& plans) const {
  int64_t begin = without_last(fraction, bound_);
  for (const Plan& plan : plans) {
    if (plan.made_at < begin) begin = std::max(plan.made_at, without_last(fraction, plan.steps));
  }
  return begin;
}

}  // namespace brightnet
