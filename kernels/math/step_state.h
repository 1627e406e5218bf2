// What an optimizer step decides by, and what it remembers; in the device's memory.
#pragma once

#include <cstdint>

#include "kernels/math/loss_totals.h"

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

}  // namespace brightnet
