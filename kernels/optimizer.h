// Arguments of the optimizer step. Its state is in device memory, so that no step waits for the host: the
// device checks the gradient, applies or skips the step and adapts the loss scale; the host reads the outcome
// later. That decision is in kernels/math/loss_scaler.h, the optimizers' rules in kernels/math/optimizer.h.
#pragma once

#include <cstddef>
#include <span>

#include "core/dtype.h"
#include "kernels/math/hd.h"
#include "kernels/math/optimizer.h"
#include "kernels/math/step_state.h"

namespace brightnet {

/// Parameters [begin, end) of the flat array share a learning-rate factor, a weight decay and the type of their
/// gradients. Parameters outside all ranges are untouched. With rate 0 the parameters keep their values, but moments and
/// averages are updated.
struct ParameterRange {
  size_t begin = 0, end = 0;
  float rate = 1;   ///< times StepState::rate
  float decay = 0;  ///< weight decay
  /// f16 or bf16: the range's gradients lie one after the other from gradients[begin] on, in the first half of their
  /// place, and what the second half contains is not read. `begin` and `end` are multiples of 4 then. Only on a GPU.
  DType gradient_type = DType::f32;
  bool pretrained = false;  ///< the rate is also multiplied by StepState::pretrained_share
};

/// The learning rate of a range in a step.
BRIGHTNET_HD float rate_of(const ParameterRange& range, const StepState& step) {
  return step.rate * range.rate * (range.pretrained ? step.pretrained_share : 1.0f);
}

/// The arrays whose values must be finite, in device memory.
struct StepEvidence {
  const float* gradients = nullptr;
  size_t gradient_count = 0;
  /// Running statistics, updated by this step's forward passes.
  const float* statistics = nullptr;
  size_t statistic_count = 0;
  /// Where gradients are in 16 bits: the ranges of the optimizer's step; empty if all are fp32.
  std::span<const ParameterRange> ranges{};
  size_t rounded_gradients = 0;  ///< how many are in 16 bits, for the traffic that is stated
};

/// Memory for the partial sums of the pass that checks a step.
constexpr size_t step_workspace_bytes = 1024 * sizeof(double);

/// The flat fp32 arrays of an optimizer step, 16-byte aligned; in some ranges the gradients are in 16 bits.
struct OptimizerArrays {
  size_t count = 0;  ///< elements of each
  float* values = nullptr;
  const float* gradients = nullptr;  ///< times the loss scale
  float* first = nullptr;            ///< the rule's first moment
  float* second = nullptr;           ///< its second; nullptr for a rule of one
  float* ema = nullptr;              ///< exponential moving average of the values; nullptr for none
  size_t rounded_gradients = 0;      ///< how many are in 16 bits, for the traffic that is stated
};

}  // namespace brightnet
