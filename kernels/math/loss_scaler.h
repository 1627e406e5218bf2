// The decision of an optimizer step: whether the gradient is finite, how it is scaled, and the next loss
// scale (dynamic loss scaling, Micikevicius et al. 2018, "Mixed precision training", §3.2). fp16 ranges from
// 2⁻²⁴ to 65504: the loss is multiplied by a scale so that small gradients do not underflow; the scale is
// halved whenever one overflows, and doubled after many steps without overflow. Scales are powers of two, so
// they change no mantissa.
#pragma once

#include <cfloat>

#include "kernels/math/hd.h"
#include "kernels/math/step_state.h"

#ifndef __CUDA_ARCH__
#include <cmath>
#endif

namespace brightnet {

constexpr float first_loss_scale = 65536.0f;  ///< 2^16
/// 2^−24: a gradient that overflows even so exceeds 65504 · 2^24.
constexpr float smallest_loss_scale = 5.9604645e-8f;
constexpr float largest_loss_scale = 16777216.0f;  ///< 2^24: fp16's smallest number times it is 1

/// decay · (1 − exp(−step/ramp)): the average forgets the weights of early steps quickly.
BRIGHTNET_HD float ramped_decay(float decay, float ramp, int64_t step) {
  if (ramp <= 0) return decay;
  return static_cast<float>(decay * (1 - std::exp(-static_cast<double>(step) / ramp)));
}

/// Adam's 1/(1 − βᵗ); in double, because βᵗ nears 1 for small t.
BRIGHTNET_HD float bias_correction(float beta, int64_t step) {
  return static_cast<float>(1.0 / (1.0 - std::pow(static_cast<double>(beta), static_cast<double>(step))));
}

/// Overflow: skips the step, discards its losses, and halves the loss scale.
BRIGHTNET_HD void skip_step(const StepPolicy& policy, StepState& state) {
  state.apply = 0;
  ++state.skipped;
  ++state.skips_in_a_row;
  state.good_steps = 0;
  if (policy.scales_loss && state.loss_scale > smallest_loss_scale) state.loss_scale *= 0.5f;
}

/// Finite gradient: sets everything that the update reads for step number `applied`.
BRIGHTNET_HD void apply_step(const StepPolicy& policy, StepState& state) {
  state.apply = 1;
  ++state.applied;
  state.skips_in_a_row = 0;
  state.gradient_factor = 1.0f / state.loss_scale;
  const bool clips = policy.clip > 0 && state.norm > policy.clip;
  if (clips) state.gradient_factor *= static_cast<float>(policy.clip / state.norm);
  state.ema_decay = ramped_decay(policy.ema_decay, policy.ema_ramp, state.applied);
  state.first_correction = bias_correction(policy.beta1, state.applied);
  state.second_correction = bias_correction(policy.beta2, state.applied);
  state.pending.images = policy.images;
  state.pending.steps = 1;
  state.pending.clipped = clips ? 1 : 0;
  state.pending.norm = state.norm;
  add_totals(state.sums, state.pending);
  if (!policy.scales_loss || ++state.good_steps < policy.growth_interval) return;
  state.good_steps = 0;
  if (state.loss_scale < largest_loss_scale) state.loss_scale *= 2.0f;
}

/// Decides from Σ g² of the gradient in memory (which includes the loss scale) and Σ x² of the running statistics;
/// these are infinite or NaN when any element is.
BRIGHTNET_HD void decide_step(const StepPolicy& policy, double gradient_squares, double statistic_squares,
                              StepState& state) {
  state.norm = std::sqrt(gradient_squares) / static_cast<double>(state.loss_scale);
  const bool finite = gradient_squares <= DBL_MAX && statistic_squares <= DBL_MAX;  // false for NaN
  if (finite) {
    apply_step(policy, state);
  } else {
    skip_step(policy, state);
  }
  state.pending = LossTotals{};
}

}  // namespace brightnet
