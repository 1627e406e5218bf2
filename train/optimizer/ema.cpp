#include "train/optimizer/ema.h"

namespace brightnet {

void EmaOptions::fields(Fields& f) {
  f("decay", decay, "of the averaged weights; 0: no average").at_least(0).at_most(0.999999);
  f("ramp", ramp, "iterations over which the decay grows").at_least(0);
}

Ema::Ema(std::unique_ptr<Optimizer> inner, const EmaOptions& options, const ParameterLayout& layout,
         Backend& backend, const float* values)
    : inner_(std::move(inner)), layout_(layout), average_(backend, bytes(options, layout)) {
  backend.copy(average_.data(), values, average_.bytes());
}

void Ema::step(OptimizerArrays arrays, const StepState* state) {
  arrays.ema = average_.floats();
  inner_->step(arrays, state);
}

void Ema::append_state(std::vector<StateArray>& state) const {
  state.push_back({"ema", average_.floats(), layout_.floats()});
  inner_->append_state(state);
}

size_t Ema::bytes(const EmaOptions& options, const ParameterLayout& layout) {
  return options.decay > 0 ? layout.floats() * sizeof(float) : 0;
}

}  // namespace brightnet
