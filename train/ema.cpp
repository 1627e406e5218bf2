#include "train/ema.h"

#include <cmath>

namespace brightnet {

Ema::Ema(std::unique_ptr<Optimizer> inner, const EmaOptions& options, const ParameterLayout& layout,
         Backend& backend, const float* values)
    : inner_(std::move(inner)),
      options_(options),
      layout_(layout),
      backend_(backend),
      average_(backend, bytes(options, layout)) {
  backend_.copy(average_.data(), values, average_.bytes());
}

StepOutcome Ema::step(OptimizerStep step) {
  const float decay = decay_at(options_, step.number);
  step.arrays.ema = average_.floats();
  step.arrays.ema_decay = decay;
  const StepOutcome outcome = inner_->step(step);
  if (outcome == StepOutcome::applied) {
    const size_t trainable = layout_.trainable_floats();
    backend_.ema_step(average_.floats() + trainable, step.arrays.values + trainable,
                      layout_.floats() - trainable, decay);
  }
  return outcome;
}

void Ema::append_state(std::vector<StateArray>& state) const {
  state.push_back({"ema", average_.floats(), layout_.floats()});
  inner_->append_state(state);
}

float Ema::decay_at(const EmaOptions& options, int64_t number) {
  if (options.ramp <= 0) return options.decay;
  return static_cast<float>(options.decay * (1 - std::exp(-static_cast<double>(number) / options.ramp)));
}

size_t Ema::bytes(const EmaOptions& options, const ParameterLayout& layout) {
  return options.decay > 0 ? layout.floats() * sizeof(float) : 0;
}

}  // namespace brightnet
