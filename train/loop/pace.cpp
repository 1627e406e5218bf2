#include "train/loop/pace.h"

#include <algorithm>
#include <utility>

namespace brightnet {

Pace::Pace(int64_t steps_per_epoch, std::function<double()> now)
    : steps_per_epoch_(steps_per_epoch), now_(std::move(now)) {}

void Pace::begin_run() {
  began_at_ = saved_at_ = now();
}

void Pace::step_done(double seconds, const Progress& progress) {
  step_seconds_ = step_seconds_ > 0 ? 0.95 * step_seconds_ + 0.05 * seconds : seconds;
  if (progress.epoch > 0) return;
  epoch_at_ = now();
  if (static_cast<int64_t>(progress.step) == steps_per_epoch_ / 2) half_epoch_at_ = epoch_at_;
}

void Pace::save_done(double began) {
  saved_at_ = now();
  save_seconds_ = saved_at_ - began;
}

double Pace::seconds_of(int64_t steps) const {
  return steps == 0 || step_seconds_ > 0 ? step_seconds_ * static_cast<double>(steps) : -1;
}

bool Pace::save_due(double save_every) const {
  constexpr double steps_over_saving = 50;
  return seconds_since_save() >= std::max(save_every, steps_over_saving * save_seconds_);
}

double Pace::steady_step_seconds() const {
  if (half_epoch_at_ == 0) return step_seconds_;
  return (epoch_at_ - half_epoch_at_) / static_cast<double>(steps_per_epoch_ - steps_per_epoch_ / 2);
}

int64_t Pace::epochs_within(double minutes, int evaluate_every) const {
  constexpr double reserve = 0.93;  // later epochs may be slower
  const double left = 60.0 * minutes * reserve - (now() - began_at_);
  const double epoch_seconds =
      steady_step_seconds() * static_cast<double>(steps_per_epoch_) + evaluation_seconds_ / evaluate_every;
  return static_cast<int64_t>(std::max(0.0, left / epoch_seconds));
}

}  // namespace brightnet
