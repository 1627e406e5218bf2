#include "train/optimizer/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace brightnet {
namespace {

/// Without `steps`, the fractions of the run at which the rate drops.
constexpr double default_drops[] = {0.8, 0.9};

}  // namespace

void ScheduleOptions::fields(Fields& f) {
  f("kind", kind, "decay of the rate after the warm-up: cosine, steps, linear or constant");
  f("unit", unit, "of warmup and steps: epochs or iterations");
  f("warmup", warmup, "length of the warm-up; at most a tenth of a run that train.minutes shortens")
      .at_least(0);
  f("power", power, "exponent of the warm-up").at_least(0);
  f("final", final, "fraction of the rate at the end of cosine and linear").within(0, 1);
  f("steps", steps, "where the rate falls; empty: at 80 % and 90 % of the run");
  f("scales", scales, "factors there; empty: 0.1 each");
}

int64_t ScheduleOptions::in_steps(float value, int64_t steps_per_epoch) const {
  const double steps = counts_epochs(unit) ? static_cast<double>(steps_per_epoch) : 1.0;
  return std::llround(value * steps);
}

Schedule::Schedule(const ScheduleOptions& options, float rate, int64_t iterations_per_epoch, int64_t total)
    : options_(options), rate_(rate), total_(std::max<int64_t>(1, total)) {
  longest_warmup_ = options.in_steps(options.warmup, iterations_per_epoch);
  warmup_length_ = warmup_end_ = std::min<int64_t>(longest_warmup_, total_);
  decay_.from = warmup_end_;
  if (options.steps.empty()) steps_ = {drop_of(default_drops[0]), drop_of(default_drops[1])};
  for (const float step : options.steps) steps_.push_back(options.in_steps(step, iterations_per_epoch));
  if (options_.scales.empty()) options_.scales.assign(steps_.size(), 0.1f);
}

int64_t Schedule::drop_of(double fraction) const {
  return std::llround(fraction * total_);
}

double Schedule::warmed(int64_t iteration) const {
  const double more = (iteration - warmup_.from) / static_cast<double>(std::max<int64_t>(1, warmup_length_));
  return std::min(1.0, warmup_.value + more);
}

double Schedule::decayed(int64_t iteration) const {
  if (iteration <= decay_.from) return decay_.value;
  const auto length = static_cast<double>(std::max<int64_t>(1, total_ - decay_.from));
  const double more = (1 - decay_.value) * ((iteration - decay_.from) / length);
  return std::min(1.0, decay_.value + more);
}

void Schedule::change_total(int64_t iteration, int64_t total, double warmup_limit) {
  if (iteration < warmup_end_) {
    warmup_ = {iteration, warmed(iteration)};
    total_ = total;
    const auto limit = static_cast<int64_t>(warmup_limit * total);
    warmup_length_ = std::min(longest_warmup_, std::max<int64_t>(1, limit));
    const double left = std::ceil((1 - warmup_.value) * warmup_length_);
    warmup_end_ = std::min(total, iteration + static_cast<int64_t>(left));
    decay_.from = warmup_end_;
  } else {
    const auto length = static_cast<double>(std::max<int64_t>(1, total - warmup_end_));
    decay_ = {iteration, std::min(decayed(iteration), (iteration - warmup_end_) / length)};
    total_ = total;
  }
  if (!options_.steps.empty()) return;
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (iteration < steps_[i]) steps_[i] = std::max(iteration, drop_of(default_drops[i]));
  }
}

float Schedule::rate(int64_t iteration) const {
  if (iteration < warmup_end_)
    return static_cast<float>(rate_ * std::pow(warmed(iteration + 1), options_.power.value()));
  const double u = decayed(iteration);
  const auto falling = [&](double left) {
    return static_cast<float>(rate_ * (options_.final + (1 - options_.final) * left));
  };
  switch (options_.kind) {
    case ScheduleKind::cosine: return falling(0.5 * (1 + std::cos(std::numbers::pi * u)));
    case ScheduleKind::linear: return falling(1 - u);
    case ScheduleKind::constant: return rate_;
    case ScheduleKind::steps: break;
  }
  double factor = 1;
  for (size_t i = 0; i < steps_.size(); ++i) factor *= iteration >= steps_[i] ? options_.scales[i] : 1.0f;
  return static_cast<float>(rate_ * factor);
}

}  // namespace brightnet
