// Arguments of the optimizer step. Its state is in device memory, so that no step waits for the host: the
// device checks the gradient, applies or skips the step and adapts the loss scale; the host reads the outcome
// later. That decision is in kernels/math/loss_scaler.h, the optimizers' rules in kernels/math/optimizer.h.
#pragma once

#include <cstddef>

#include "kernels/math/hd.h"
#include "kernels/math/optimizer.h"
#include "kernels/math/step_state.h"

namespace brightnet {

/// Parameters [begin, end) of the flat array share a learning-rate factor and a weight decay. Parameters outside all
/// ranges are untouched. With rate 0 the parameters keep their values, but moments and averages are updated.
struct ParameterRange {
  size_t begin = 0, end = 0;
  float rate = 1;           ///< factor on StepState::rate
  float decay = 0;          ///< weight decay
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
};

/// Memory for the partial sums of the pass that checks a step.
constexpr size_t step_workspace_bytes = 1024 * sizeof(double);

/// The flat fp32 arrays of an optimizer step, 16-byte aligned.
struct OptimizerArrays {
  size_t count = 0;  ///< elements of each array
  float* values = nullptr;
  const float* gradients = nullptr;  ///< gradients of the loss times the loss scale
  float* first = nullptr;            ///< the rule's first moment
  float* second = nullptr;           ///< the rule's second moment; nullptr for a rule of one
  float* ema = nullptr;              ///< exponential moving average of the values; nullptr for none
};

}  // namespace brightnet
