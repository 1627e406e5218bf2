// The exponential moving average of the weights, which generalises better than any single step's weights
// (Polyak & Juditsky 1992; Tarvainen & Valpola 2017). It covers the running statistics as well, so that the
// averaged network is a whole one.
#pragma once

#include <memory>
#include <vector>

#include "train/optimizer/optimizer.h"

namespace brightnet {

class Ema : public Optimizer {
 public:
  /// Starts at `values`.
  Ema(std::unique_ptr<Optimizer> inner, const EmaOptions& options, const ParameterLayout& layout,
      Backend& backend, const float* values);
  /// The inner step averages the trainable weights in its own pass over memory. The statistics follow when
  /// they are settled (train/optimizer/optimizer_step.h).
  void step(OptimizerArrays arrays, const StepState* state) override;
  void append_state(std::vector<StateArray>& state) const override;
  float* average() const override { return average_.floats(); }

  static size_t bytes(const EmaOptions& options, const ParameterLayout& layout);

 private:
  std::unique_ptr<Optimizer> inner_;
  const ParameterLayout& layout_;
  DeviceBuffer average_;
};

}  // namespace brightnet
