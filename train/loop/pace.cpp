#include "train/loop/pace.h"

#include <algorithm>
#include <cmath>

namespace brightnet {
namespace {

/// The first steps of a process compile, record and fill caches.
constexpr int64_t unusual_steps = 2;
/// A step that took longer than so many usual ones says nothing of those that follow: the machine stood still. One that
/// has really become slower is known after a few steps.
constexpr double longest_step = 5;

}  // namespace

void Pace::begin_run(const RunTimes& before) {
  before_ = before;
  evaluation_seconds_ = before.evaluation;
  began_at_ = saved_at_ = mark_ = now();
}

void Pace::step_done(double seconds, double work) {
  step_seconds_ = step_seconds_ > 0 ? 0.95 * step_seconds_ + 0.05 * seconds / work : seconds / work;
  double took = now() - mark_;
  mark_ = now();
  if (++steps_ <= unusual_steps) return;
  if (sum_steps_ > 0) took = std::min(took, longest_step * recent_step_seconds() * work);
  const double older = std::exp(-std::min(took / recent_seconds_, 1 / static_cast<double>(recent_steps_)));
  sum_seconds_ = older * sum_seconds_ + took;
  sum_steps_ = older * sum_steps_ + work;
}

void Pace::pause_done(double began, bool evaluated, double work) {
  const double took = std::max(0.0, now() - std::max(began, mark_));
  mark_ = now();
  if (evaluated) {
    evaluation_seconds_ = took / work;
    step_seconds_then_ = recent_step_seconds();
    before_.evaluated_at = times().used;
  } else {
    epoch_end_seconds_ = epoch_end_seconds_ > 0 ? (epoch_end_seconds_ + took) / 2 : took;
  }
}

void Pace::save_done(double began) {
  saved_at_ = now();
  save_seconds_ = saved_at_ - began;
  mark_ += save_seconds_;
}

void Pace::evaluation_timed(double began, double seconds) {
  mark_ += now() - std::max(began, mark_);
  evaluation_seconds_ = seconds;
  step_seconds_then_ = recent_step_seconds();
}

double Pace::seconds_of(double steps) const {
  return steps == 0 || step_seconds_ > 0 ? step_seconds_ * steps : -1;
}

bool Pace::save_due(double save_every) const {
  constexpr double steps_over_saving = 50;
  return seconds_since_save() >= std::max(save_every, steps_over_saving * save_seconds_);
}

RunTimes Pace::times() const {
  RunTimes all = before_;
  if (all.used >= 0) all.used += now() - began_at_;
  all.evaluation = evaluation_seconds_;
  return all;
}

double Pace::recent_step_seconds() const {
  return sum_steps_ > 0 ? sum_seconds_ / sum_steps_ : step_seconds_;
}

// A machine that has become slower evaluates more slowly, too. One that has become faster need not: steps also
// become faster because images are in the cache, and evaluations have none.
double Pace::evaluation_seconds() const {
  const double slower = step_seconds_then_ > 0 ? recent_step_seconds() / step_seconds_then_ : 1;
  return evaluation_seconds_ * std::max(1.0, slower);
}

}  // namespace brightnet
