// The exponential moving average of the weights, which generalises better than any single step's weights
// (Polyak & Juditsky 1992; Tarvainen & Valpola 2017). It includes batch-norm's running statistics.
#pragma once

#include <memory>
#include <vector>

#include "core/auto.h"
#include "train/optimizer/optimizer.h"

namespace brightnet {

/// The `ema:` section: the averaged weights that are evaluated and saved for use.
struct EmaOptions {
  Auto<float> decay;  ///< 0: no average
  Auto<float> ramp;   ///< iterations: decay(t) = decay · (1 − exp(−t / ramp))
  void fields(Fields& f);
};

class Ema : public Optimizer {
 public:
  /// The average starts at `values`.
  Ema(std::unique_ptr<Optimizer> inner, const EmaOptions& options, const ParameterLayout& layout,
      Backend& backend, const float* values);
  /// The inner optimizer averages the trainable weights in the same pass over memory; OptimizerStep averages
  /// the running statistics.
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
