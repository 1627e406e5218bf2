#include "train/optimizer/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace brightnet {

Schedule::Schedule(const ScheduleOptions& options, float rate, int64_t iterations_per_epoch, int64_t total)
    : options_(options), rate_(rate), total_(std::max<int64_t>(1, total)) {
  const double unit = options.unit == "epochs" ? static_cast<double>(iterations_per_epoch) : 1.0;
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
  if (options_.kind == "steps") {
    double factor = 1;
    for (size_t i = 0; i < steps_.size(); ++i) factor *= iteration >= steps_[i] ? options_.scales[i] : 1.0f;
    return static_cast<float>(rate_ * factor);
  }
  if (options_.kind == "constant") return rate_;
  const auto length = static_cast<double>(std::max<int64_t>(1, total_ - warmup_));
  const double u = std::min(1.0, static_cast<double>(iteration - warmup_) / length);
  const double fall = options_.kind == "linear" ? 1 - u : 0.5 * (1 + std::cos(std::numbers::pi * u));
  return static_cast<float>(rate_ * (options_.final + (1 - options_.final) * fall));
}

}  // namespace brightnet
