// Optimizers compose: an average wraps SGD or Adam and changes the step on its way in. All work on the flat
// arrays of layers/parameters.h, so one step is one pass over memory however many are stacked. None of them
// waits for the device: whether a step is applied is decided there (train/optimizer/optimizer_step.h).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/config.h"
#include "kernels/backend.h"
#include "layers/parameters.h"

namespace brightnet {

struct EmaOptions;

enum class OptimizerKind : uint8_t { adamw, sgd };
constexpr std::string_view enum_name(OptimizerKind kind) {
  switch (kind) {
    case OptimizerKind::adamw: return "adamw";
    case OptimizerKind::sgd: return "sgd";
  }
  return {};
}

/// l2: part of the gradient, as in darknet. decoupled: beside it (Loshchilov & Hutter 2019).
enum class DecayKind : uint8_t { l2, decoupled };
constexpr std::string_view enum_name(DecayKind kind) {
  switch (kind) {
    case DecayKind::l2: return "l2";
    case DecayKind::decoupled: return "decoupled";
  }
  return {};
}

/// The `optimizer:` section. AdamW is the default because it reached a far higher AP than SGD on small data
/// sets in few epochs (docs/accuracy.md).
struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::adamw;
  /// The schedule's peak; sgd: 0.01 if not given.
  float rate = 0.002f;
  float momentum = 0.9f;  ///< sgd
  bool nesterov = false;  ///< sgd
  /// Of convolution weights; batch-norm and biases have none. sgd: 0.0005 if not given.
  float decay = 0.05f;
  /// Of sgd; adamw is decoupled.
  DecayKind decay_kind = DecayKind::l2;
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;  ///< adamw
  /// Largest norm of the whole gradient; 0: any.
  float clip = 10.0f;
  /// Steps in a row whose gradient is not finite before the run stops.
  int max_skips = 20;
  /// The loss scale to start with, in any precision; 0: 65536 in fp16, none otherwise.
  float loss_scale = 0;
  /// Steps in a row without overflow after which the loss scale doubles.
  int loss_scale_growth = 2000;

  void fields(Fields& f);
  /// The defaults of stochastic gradient descent: a rate and a decay mean nothing to another optimizer.
  static OptimizerOptions sgd();
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// Queues a step as the state (in the device's memory) decides. The caller gives values and gradients.
  virtual void step(OptimizerArrays arrays, const StepState* state) = 0;
  /// Appends the arrays of this optimizer and of those it wraps.
  virtual void append_state(std::vector<StateArray>& state) const = 0;
  /// The averaged parameters in the device's memory, running statistics included; nullptr when none are kept.
  virtual float* average() const { return nullptr; }
};

/// Parameter ranges in the device's memory.
class DeviceRanges {
 public:
  DeviceRanges(Backend& backend, const std::vector<ParameterRange>& ranges);
  std::span<const ParameterRange> span() const {
    return {static_cast<const ParameterRange*>(memory_.data()), memory_.bytes() / sizeof(ParameterRange)};
  }

 private:
  DeviceBuffer memory_;
};

/// Stochastic gradient descent with momentum. With decay_kind l2 the decay is part of the gradient, as in
/// darknet, and goes through the momentum; decoupled, it shrinks the weights beside it (Loshchilov &
/// Hutter 2019).
class Sgd : public Optimizer {
 public:
  Sgd(const OptimizerOptions& options, const ParameterLayout& layout, Backend& backend);
  void step(OptimizerArrays arrays, const StepState* state) override;
  void append_state(std::vector<StateArray>& state) const override;

 private:
  Backend& backend_;
  SgdStep sgd_;
  DeviceRanges ranges_;
  DeviceBuffer momentum_;
};

/// Adam with decoupled decay.
class AdamW : public Optimizer {
 public:
  AdamW(const OptimizerOptions& options, const ParameterLayout& layout, Backend& backend);
  void step(OptimizerArrays arrays, const StepState* state) override;
  void append_state(std::vector<StateArray>& state) const override;

 private:
  Backend& backend_;
  AdamWStep adam_;
  DeviceRanges ranges_;
  DeviceBuffer first_, second_;
};

/// How the optimizer treats each parameter of the flat array: its layer's rate, and that convolution weights
/// decay while biases, scales and shifts do not. Frozen ones are in no range, so that nothing moves them. How
/// many ranges there are does not depend on the rates of those that are trained.
std::vector<ParameterRange> parameter_ranges(const ParameterLayout& layout, float decay);

/// The optimizer that the configuration asks for and, if `ema` wants one, the average around it. `values` are
/// the parameters that it will step over.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options, const EmaOptions& ema,
                                          const ParameterLayout& layout, Backend& backend, float* values);

/// Bytes of device memory that make_optimizer() takes for the optimizer's state and ranges; not for
/// the average.
size_t optimizer_bytes(const OptimizerOptions& options, const ParameterLayout& layout);

}  // namespace brightnet
