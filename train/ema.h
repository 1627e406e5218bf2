// The exponential moving average of the weights, which generalises better than any single step's weights
// (Polyak & Juditsky 1992; Tarvainen & Valpola 2017). It covers the running statistics as well, so that the
// averaged network is a whole one.
#pragma once

#include <memory>
#include <vector>

#include "train/optimizer.h"

namespace brightnet {

class Ema : public Optimizer {
 public:
  /// Starts at `values`.
  Ema(std::unique_ptr<Optimizer> inner, const EmaOptions& options, const ParameterLayout& layout,
      Backend& backend, const float* values);
  /// The inner step averages the trainable weights in its own pass over memory; the statistics follow here.
  StepOutcome step(OptimizerStep step) override;
  void append_state(std::vector<StateArray>& state) const override;
  float* average() const override { return average_.floats(); }
  double gradient_norm() const override { return inner_->gradient_norm(); }

  /// decay · (1 − exp(−number / ramp)): early steps, whose weights are far from any good, are forgotten soon.
  static float decay_at(const EmaOptions& options, int64_t number);
  static size_t bytes(const EmaOptions& options, const ParameterLayout& layout);

 private:
  std::unique_ptr<Optimizer> inner_;
  EmaOptions options_;
  const ParameterLayout& layout_;
  Backend& backend_;
  DeviceBuffer average_;
};

}  // namespace brightnet
