// Optimizers compose: an average wraps a guard wraps SGD, each changing the step on its way in. All work on
// the flat arrays of layers/parameters.h, so one step is one pass over memory however many are stacked.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/backend.h"
#include "layers/parameters.h"
#include "train/config.h"

namespace brightnet {

/// What one step works on.
struct OptimizerStep {
  OptimizerArrays arrays;  ///< the caller gives values, gradients and gradient_scale
  float rate = 0;
  int64_t number = 1;  ///< steps taken so far, and this one
};

enum class StepOutcome : uint8_t {
  applied,
  skipped,  ///< the gradient was not finite; no parameter was touched
};

/// An array that a resumed run needs back.
struct StateArray {
  std::string name;
  float* values = nullptr;  ///< in the device's memory
  size_t count = 0;
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  virtual StepOutcome step(OptimizerStep step) = 0;
  /// Appends the arrays of this optimizer and of those it wraps.
  virtual void append_state(std::vector<StateArray>& state) const = 0;
  /// The averaged parameters in the device's memory, running statistics included; nullptr when none are kept.
  virtual float* average() const { return nullptr; }
  /// Norm of the last step's gradient before clipping; 0 when nobody measured it.
  virtual double gradient_norm() const { return 0; }
};

/// Stochastic gradient descent with momentum. With decay_kind l2 the decay is part of the gradient, as in
/// darknet, and goes through the momentum; decoupled, it shrinks the weights beside it (Loshchilov & Hutter
/// 2019).
class Sgd : public Optimizer {
 public:
  Sgd(const OptimizerOptions& options, const ParameterLayout& layout, Backend& backend);
  StepOutcome step(OptimizerStep step) override;
  void append_state(std::vector<StateArray>& state) const override;

 private:
  Backend& backend_;
  SgdStep sgd_;
  std::vector<ParameterRange> ranges_;
  DeviceBuffer momentum_;
};

/// Adam with decoupled decay.
class AdamW : public Optimizer {
 public:
  AdamW(const OptimizerOptions& options, const ParameterLayout& layout, Backend& backend);
  StepOutcome step(OptimizerStep step) override;
  void append_state(std::vector<StateArray>& state) const override;

 private:
  Backend& backend_;
  AdamWStep adam_;
  std::vector<ParameterRange> ranges_;
  DeviceBuffer first_, second_;
};

/// Looks at the gradient's norm first: scales it down to `clip`, and lets no step through whose gradient is
/// not finite. Throws InputError, with what to change, after `max_skips` of those in a row.
class GradientGuard : public Optimizer {
 public:
  GradientGuard(std::unique_ptr<Optimizer> inner, const OptimizerOptions& options,
                const ParameterLayout& layout, Backend& backend);
  StepOutcome step(OptimizerStep step) override;
  void append_state(std::vector<StateArray>& state) const override { inner_->append_state(state); }
  float* average() const override { return inner_->average(); }
  double gradient_norm() const override { return norm_; }

 private:
  std::unique_ptr<Optimizer> inner_;
  Backend& backend_;
  size_t count_, statistics_;
  float clip_;
  int max_skips_, skips_ = 0;
  double norm_ = 0;
};

/// Which parts of the flat array decay: convolution weights do; biases, scales and shifts do not.
std::vector<ParameterRange> decay_ranges(const ParameterLayout& layout, float decay);

/// The optimizer that the configuration asks for, its gradient guard around it and, if `ema` wants one, the
/// average around that. `values` are the parameters that it will step over.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options, const EmaOptions& ema,
                                          const ParameterLayout& layout, Backend& backend, float* values);

/// Bytes of device memory that make_optimizer() takes for the optimizer's state.
size_t optimizer_bytes(const OptimizerOptions& options, const ParameterLayout& layout);

}  // namespace brightnet
