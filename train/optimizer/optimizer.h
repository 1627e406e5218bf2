// SGD and AdamW, and the average that wraps one of them. All work on the flat arrays of layers/parameters.h:
// a step, averaging included, is one pass over memory. None waits for the device, which itself decides
// whether a step is applied (train/optimizer/optimizer_step.h).
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

/// l2: added to the gradient, as in darknet, and so to the momentum. decoupled: shrinks the weights directly
/// (Loshchilov & Hutter 2019).
enum class DecayKind : uint8_t { l2, decoupled };
constexpr std::string_view enum_name(DecayKind kind) {
  switch (kind) {
    case DecayKind::l2: return "l2";
    case DecayKind::decoupled: return "decoupled";
  }
  return {};
}

/// The `optimizer:` section. AdamW is the default because it reached a far higher AP than SGD on small data
/// sets in few epochs (docs/measurements/blood_cells.md).
struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::adamw;
  /// The schedule's peak; sgd: 0.01 if not given. Automatic for adamw.
  Auto<float> rate;
  float momentum = 0.9f;  ///< sgd
  bool nesterov = false;  ///< sgd
  /// Weight decay of convolution weights; none for batch-norm and biases. sgd: 0.0005 if not given.
  float decay = 0.05f;
  /// For sgd; adamw is always decoupled.
  DecayKind decay_kind = DecayKind::l2;
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;  ///< adamw
  /// Gradient clipping: maximum norm of the whole gradient; 0: none.
  float clip = 10.0f;
  /// The run stops after this many consecutive steps with a gradient that is not finite.
  int max_skips = 20;
  /// Initial loss scale, in any precision; 0: 65536 in fp16, none otherwise.
  float loss_scale = 0;
  /// Consecutive steps without overflow after which the loss scale doubles.
  int loss_scale_growth = 2000;

  void fields(Fields& f);
  /// The defaults of SGD, whose rate and decay differ from AdamW's.
  static OptimizerOptions sgd();
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

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  /// Queues a step controlled by `state` (in device memory). The caller sets values and gradients.
  virtual void step(OptimizerArrays arrays, const StepState* state) = 0;
  /// Appends the arrays of this optimizer and of those it wraps.
  virtual void append_state(std::vector<StateArray>& state) const = 0;
  /// The averaged parameters in the device's memory, running statistics included; nullptr when none are kept.
  virtual float* average() const { return nullptr; }
};

/// Stochastic gradient descent with momentum.
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

/// The rate and decay of each parameter of the flat array: its layer's rate; decay only for convolution
/// weights. Frozen parameters are in no range and stay unchanged. The number of ranges does not depend on the
/// rates of trained parameters.
std::vector<ParameterRange> parameter_ranges(const ParameterLayout& layout, float decay);

/// The configured optimizer, wrapped in an average if `ema` has one. `values` are the parameters that it
/// will update.
std::unique_ptr<Optimizer> make_optimizer(const OptimizerOptions& options, const EmaOptions& ema,
                                          const ParameterLayout& layout, Backend& backend, float* values);

/// Bytes of device memory that make_optimizer() takes for the optimizer's state and ranges, without
/// the average.
size_t optimizer_bytes(const OptimizerOptions& options, const ParameterLayout& layout);

}  // namespace brightnet
