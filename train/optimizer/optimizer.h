// The optimizer: a rule of kernels/math/optimizer.h with its settings and its state. It works on the flat arrays of
// layers/parameters.h: a step, averaging included, is one pass over memory. It does not wait for the device, which
// itself decides whether a step is applied (train/optimizer/optimizer_step.h).
#pragma once

#include <string_view>
#include <vector>

#include "core/config.h"
#include "kernels/backend.h"
#include "layers/parameters.h"
#include "train/optimizer/ema.h"

namespace brightnet {

enum class OptimizerKind : uint8_t { adamw, sgd, lion };
constexpr std::string_view enum_name(OptimizerKind kind) {
  switch (kind) {
    case OptimizerKind::adamw: return AdamW::name;
    case OptimizerKind::sgd: return Sgd::name;
    case OptimizerKind::lion: return Lion::name;
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
  /// The schedule's peak; sgd: 0.01, lion: 0.0002 if not given. Automatic for adamw.
  Auto<float> rate;
  float momentum = 0.9f;  ///< for sgd
  bool nesterov = false;  ///< for sgd
  /// Weight decay of convolution weights; none for batch-norm and biases. sgd: 0.0005, lion: 0.5 if not given.
  float decay = 0.05f;
  /// Kind of weight decay, for sgd; that of others is always decoupled.
  DecayKind decay_kind = DecayKind::l2;
  float beta1 = 0.9f, beta2 = 0.999f;  ///< for adamw and lion; beta2 of lion: 0.99 if not given
  float epsilon = 1e-8f;               ///< for adamw
  /// Gradient clipping: maximum norm of the whole gradient; 0: none.
  float clip = 10.0f;
  /// The run stops after this many consecutive steps with a gradient that is not finite.
  int max_skips = 20;
  /// Initial loss scale, in any precision; 0: 65536 in fp16, none otherwise.
  float loss_scale = 0;
  /// Consecutive steps without overflow after which the loss scale doubles.
  int loss_scale_growth = 2000;

  void fields(Fields& f);
  /// The defaults, of which some depend on the kind.
  static OptimizerOptions of(OptimizerKind kind);
};

/// The rule of this kind, with its settings.
OptimizerRule rule_of(const OptimizerOptions& options);

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
  /// `values` are the parameters that it will update, at which an average starts.
  Optimizer(const OptimizerOptions& options, const EmaOptions& ema, const ParameterLayout& layout,
            Backend& backend, const float* values);
  /// Queues a step controlled by `state` (in device memory). The caller sets values and gradients.
  void step(OptimizerArrays arrays, const StepState* state);
  /// Appends the arrays that a resumed run needs.
  void append_state(std::vector<StateArray>& state) const;
  /// The averaged parameters in the device's memory, running statistics included, which OptimizerStep averages; nullptr
  /// when none are kept.
  float* average() const { return average_.floats(); }

 private:
  Backend& backend_;
  OptimizerRule rule_;
  DeviceRanges ranges_;
  std::vector<DeviceBuffer> moments_;
  DeviceBuffer average_;
};

/// The rate and decay of each parameter of the flat array: its layer's rate; decay only for convolution
/// weights. Frozen parameters are in no range and stay unchanged. The number of ranges does not depend on the
/// rates of trained parameters.
std::vector<ParameterRange> parameter_ranges(const ParameterLayout& layout, float decay);

/// Bytes of device memory that an Optimizer takes for its moments and ranges, without the average.
size_t optimizer_bytes(const OptimizerOptions& options, const ParameterLayout& layout);

}  // namespace brightnet
