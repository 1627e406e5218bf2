#include "train/optimizer/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace brightnet {

void ScheduleOptions::fields(Fields& f) {
  f("kind", kind, "decay of the rate after the warm-up");
  f("unit", unit, "of warmup and steps");
  f("warmup", warmup, "length of the warm-up").at_least(0);
  f("power", power, "exponent of the warm-up").at_least(0);
  f("final", final, "fraction of the rate at the end of cosine and linear").within(0, 1);
  f("steps", steps, "where the rate falls; empty: at 80 % and 90 % of the run");
  f("scales", scales, "factors there; empty: 0.1 each");
}

Schedule::Schedule(const ScheduleOptions& options, float rate, int64_t iterations_per_epoch, int64_t total)
    : options_(options), rate_(rate), total_(std::max<int64_t>(1, total)) {
  const double unit = options.unit == ScheduleUnit::epochs ? static_cast<double>(iterations_per_epoch) : 1.0;
  warmup_ = std::min<int64_t>(std::llround(options.warmup * unit), total_);
  if (options.steps.empty()) {
    steps_ = {std::llround(0.8 * static_cast<double>(total_)),
              std::llround(0.9 * static_cast<double>(total_))};
  }
  for (const float step : options.steps) steps_.push_back(std::llround(step * unit));
  if (options_.scales.empty()) options_.scales.assign(steps_.size(), 0.1f);
}

float Schedule::rate(int64_t iteration) const {
  if (iteration < warmup_) {
    const double part = static_cast<double>(iteration + 1) / static_cast<double>(warmup_);
    return static_cast<float>(rate_ * std::pow(part, options_.power));
  }
  const auto length = static_cast<double>(std::max<int64_t>(1, total_ - warmup_));
  const double u = std::min(1.0, static_cast<double>(iteration - warmup_) / length);
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
