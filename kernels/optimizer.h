// The optimizer step: what it reads and writes, what it decides, and what it remembers. Its state lies in
// the device's memory, so that no step waits for the host: the device itself checks the gradient, applies
// or skips the step and moves the loss scale, and the host reads afterwards what became of it. The rules
// are in kernels/math/loss_scaler.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/yolo.h"

namespace brightnet {

/// What does not change over a run.
struct StepPolicy {
  float clip = 0;              ///< largest norm of the whole gradient; 0: any
  bool scales_loss = false;    ///< the loss scale follows overflows; else it stays what it is
  int growth_interval = 2000;  ///< applied steps in a row after which the loss scale doubles
  int images = 0;              ///< of one step, on this device
  float beta1 = 0, beta2 = 0;  ///< Adam's, for its bias corrections
  float ema_decay = 0;         ///< of the averaged weights in the long run
  float ema_ramp = 0;          ///< steps over which it grows to that; 0: at once
};

/// The loss's gradient is multiplied by `loss_scale` where a head computes it, and divided by it in the
/// optimizer step.
struct StepState {
  // The host's, before each step.
  float rate = 0;  ///< learning rate

  // Remembered from step to step, and saved with a run.
  float loss_scale = 1;
  int32_t good_steps = 0;      ///< applied since the loss scale last changed
  int32_t skips_in_a_row = 0;  ///< steps skipped since the last one that was applied
  int64_t applied = 0, skipped = 0;
  LossTotals sums;     ///< of applied steps since the host last cleared them
  LossTotals pending;  ///< of the step that is being computed; what is not finite never reaches `sums`

  // Decided for one step.
  int32_t apply = 0;          ///< 0: the step is skipped, no parameter is touched
  float gradient_factor = 0;  ///< clipping over loss scale: what gradients are multiplied by
  float ema_decay = 0;        ///< ema = d·ema + (1 − d)·value
  float first_correction = 1, second_correction = 1;  ///< Adam's 1/(1 − βᵗ)
  double norm = 0;  ///< of the gradient of the loss (without its scale), before clipping
};

/// What a step is checked by, all in the device's memory.
struct StepEvidence {
  const float* gradients = nullptr;
  size_t gradient_count = 0;
  /// Running statistics, which this step's forward passes moved.
  const float* statistics = nullptr;
  size_t statistic_count = 0;
};

/// Memory for the partial sums of the pass that checks a step.
constexpr size_t step_workspace_bytes = 1024 * sizeof(double);

/// Parameters [begin, end) of the flat array share a factor on the step's learning rate and a decay. Nothing
/// outside of a step's ranges is touched. A range of rate 0 keeps its parameters, but their moments and
/// averages move.
struct ParameterRange {
  size_t begin = 0, end = 0;
  float rate = 1;   ///< times StepState::rate
  float decay = 0;  ///< weight decay
};

/// The flat fp32 arrays of an optimizer step, 16-byte aligned.
struct OptimizerArrays {
  size_t count = 0;  ///< elements of each
  float* values = nullptr;
  const float* gradients = nullptr;  ///< times the loss scale
  float* first = nullptr;            ///< momentum, or Adam's first moment
  float* second = nullptr;           ///< Adam's second moment; nullptr for SGD
  float* ema = nullptr;              ///< exponential moving average of the values; nullptr for none
};

/// For every parameter w with gradient g in a range, with the step's state s:
///
///     rate = s.rate · range.rate
///     g' = s.gradient_factor · g + decay · w
///     v  = momentum · v + g'                                  (v: `first`)
///     w −= rate · (nesterov ? g' + momentum · v : v)
///     ema = s.ema_decay · ema + (1 − s.ema_decay) · w         (where `ema` is given)
///
/// The decay is coupled, as darknet's L2: it enters the momentum. Decoupled (Loshchilov & Hutter 2019) it is
/// no part of g', and w −= rate·decay·w beside the update, with the old w.
struct SgdStep {
  float momentum = 0.9f;
  bool nesterov = false;
  bool decoupled = false;
};

/// AdamW (Loshchilov & Hutter 2019, algorithm 2), with m = `first` and v = `second`; the state has the
/// corrections 1/(1 − βᵗ):
///
///     g' = s.gradient_factor · g
///     m  = β₁ m + (1 − β₁) g'        v = β₂ v + (1 − β₂) g'²
///     w −= rate · ( m/(1 − β₁ᵗ) / (√(v/(1 − β₂ᵗ)) + ε) + decay · w )
///
/// and the average as in SgdStep.
struct AdamWStep {
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;
};

}  // namespace brightnet
