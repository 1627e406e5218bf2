#include "train/optimizer/ema.h"

namespace brightnet {

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
