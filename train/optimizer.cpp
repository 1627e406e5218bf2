#include "train/optimizer.h"

#include <algorithm>
#include <cmath>

#include "train/ema.h"

namespace brightnet {
namespace {

DeviceBuffer zeros(Backend& backend, size_t floats) {
  DeviceBuffer buffer(backend, floats * sizeof(float));
  backend.zero(buffer.data(), buffer.bytes());
  return buffer;
}

void set_rate(std::vector<ParameterRange>& ranges, float rate) {
  for (auto& range : ranges) range.rate = rate;
}

}  // namespace

std::vector<ParameterRange> decay_ranges(const ParameterLayout& layout, float decay) {
  std::vector<ParameterRange> ranges;
  const auto& entries = layout.entries();
  for (size_t i = 0; i < entries.size(); ++i) {
    const auto& entry = entries[i];
    if (entry.offset >= layout.trainable_floats()) break;
    // Up to the next entry, padding included, so that the ranges cover the array without holes.
    const size_t end = i + 1 < entries.size() ? entries[i + 1].offset : layout.trainable_floats();
    const float own = entry.kind == ParameterKind::weight ? decay : 0.0f;
    if (!ranges.empty() && ranges.back().decay == own) {
      ranges.back().end = end;
    } else {
      ranges.push_back({entry.offset, end, 0.0f, own});
    }
  }
  return ranges;
}

Sgd::Sgd(const OptimizerOptions& options, const ParameterLayout& layout, Backend& backend)
    : backend_(backend),
      sgd_{.momentum = options.momentum,
           .nesterov = options.nesterov,
           .decoupled = options.decay_kind == "decoupled"},
      ranges_(decay_ranges(layout, options.decay)),
      momentum_(zeros(backend, layout.trainable_floats())) {}

StepOutcome Sgd::step(OptimizerStep step) {
  set_rate(ranges_, step.rate);
  step.arrays.first = momentum_.floats();
  backend_.sgd_step(sgd_, step.arrays, ranges_);
  return StepOutcome::applied;
}

void Sgd::append_state(std::vector<StateArray>& state) const {
  state.push_back({"optimizer.momentum", momentum_.floats(), momentum_.bytes() / sizeof(float)});
}

AdamW::AdamW(const OptimizerOptions& options, const ParameterLayout& layout, Backend& backend)
    : backend_(backend),
      adam_{.beta1 = options.beta1, .beta2 = options.beta2, .epsilon = options.epsilon},
      ranges_(decay_ranges(layout, options.decay)),
      first_(zeros(backend, layout.trainable_floats())),
      second_(zeros(backend, layout.trainable_floats())) {}

StepOutcome AdamW::step(OptimizerStep step) {
  set_rate(ranges_, step.rate);
  step.arrays.first = first_.floats();
  step.arrays.second = second_.floats();
  adam_.step = step.number;
  backend_.adamw_step(adam_, step.arrays, ranges_);
  return StepOutcome::applied;
}

void AdamW::append_state(std::vector<StateArray>& state) const {
  state.push_back({"optimizer.first", first_.floats(), first_.bytes() / sizeof(float)});
  state.push_back({"optimizer.second", second_.floats(), second_.bytes() / sizeof(float)});
}

GradientGuard::GradientGuard(std::unique_ptr<Optimizer> inner, const OptimizerOptions& options,
                             const ParameterLayout& layout, Backend& backend)
    : inner_(std::move(inner)),
      backend_(backend),
      count_(layout.trainable_floats()),
      statistics_(layout.floats() - layout.trainable_floats()),
      clip_(options.clip),
      max_skips_(options.max_skips) {}

StepOutcome GradientGuard::step(OptimizerStep step) {
  norm_ = std::sqrt(backend_.sum_of_squares(step.arrays.gradients, count_)) *
          std::abs(static_cast<double>(step.arrays.gradient_scale));
  const bool sound = std::isfinite(norm_) &&
                     std::isfinite(backend_.sum_of_squares(step.arrays.values + count_, statistics_));
  if (!sound) {
    if (++skips_ >= max_skips_) {
      throw InputError(
          "the gradient was not finite for " + std::to_string(skips_) + " steps in a row, so training stops",
          "",
          "The weights of the last checkpoint are sound. Lower optimizer.rate or optimizer.clip, or "
          "lengthen schedule.warmup, and look at the labels with `brightnet data check`.");
    }
    return StepOutcome::skipped;
  }
  skips_ = 0;
  if (clip_ > 0 && norm_ > clip_) step.arrays.gradient_scale *= static_cast<float>(clip_ / norm_);
  return inner_->step(step);
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options, const EmaOptions& ema,
                                          const ParameterLayout& layout, Backend& backend, float* values) {
  std::unique_ptr<Optimizer> optimizer;
  if (options.kind == "adamw") {
    optimizer = std::make_unique<AdamW>(options, layout, backend);
  } else {
    optimizer = std::make_unique<Sgd>(options, layout, backend);
  }
  optimizer = std::make_unique<GradientGuard>(std::move(optimizer), options, layout, backend);
  if (ema.decay > 0) optimizer = std::make_unique<Ema>(std::move(optimizer), ema, layout, backend, values);
  return optimizer;
}

size_t optimizer_bytes(const OptimizerOptions& options, const ParameterLayout& layout) {
  return layout.trainable_floats() * sizeof(float) * (options.kind == "adamw" ? 2 : 1);
}

}  // namespace brightnet
