// Policy and state of the optimizer step, in device memory.
#pragma once

#include <cstdint>

#include "kernels/math/loss_totals.h"

namespace brightnet {

/// The settings of the optimizer step, constant over a run.
struct StepPolicy {
  float clip = 0;              ///< largest norm of the whole gradient; 0: any
  bool scales_loss = false;    ///< dynamic loss scaling; else the loss scale is constant
  int growth_interval = 2000;  ///< applied steps in a row after which the loss scale doubles
  int images = 0;              ///< images of one step, on this device
  float beta1 = 0, beta2 = 0;  ///< the rule's corrected(), for the bias corrections
  float ema_decay = 0;         ///< final decay of the averaged weights
  float ema_ramp = 0;          ///< time constant of ema_decay's ramp, in steps; 0: none
};

/// The heads multiply the loss's gradient by `loss_scale`; the optimizer step divides by it.
struct StepState {
  // Set by the host before each step.
  float rate = 0;              ///< learning rate
  float pretrained_share = 1;  ///< factor on `rate` for pretrained parameters

  // Kept from step to step, and saved in checkpoints.
  float loss_scale = 1;
  int32_t good_steps = 0;      ///< steps applied since the loss scale last changed
  int32_t skips_in_a_row = 0;  ///< steps skipped since the last one that was applied
  int64_t applied = 0, skipped = 0;
  LossTotals sums;     ///< sums of the steps applied since the host last cleared them
  LossTotals pending;  ///< sums of the current step; added to `sums` only if the step is finite

  // Decided for one step.
  int32_t apply = 0;          ///< 0: the step is skipped, no parameter is touched
  float gradient_factor = 0;  ///< clipping over loss scale: what gradients are multiplied by
  float ema_decay = 0;        ///< d of ema = d·ema + (1 − d)·value
  float first_correction = 1, second_correction = 1;  ///< the rule's 1/(1 − βᵗ)
  double norm = 0;  ///< norm of the gradient of the loss (without its scale), before clipping
};

}  // namespace brightnet
