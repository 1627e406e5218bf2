// Cross-entropies of a logit and their derivatives, safe for every finite logit and vectorisable.
#pragma once

#include "kernels/math/activation.h"
#include "kernels/math/hd.h"

#ifndef __CUDA_ARCH__
#include <cmath>
#endif

namespace brightnet {

/// A loss and its derivative with respect to the logit.
struct LossTerm {
  float value, derivative;
};

/// ln(1 + u) for u in [0, 1], to about 2 ulp also for tiny u; branch-free.
BRIGHTNET_HD float fast_log1p(float u) {
  // ln(1 + u) = 2·atanh(z) with z = u/(2 + u) ≤ 1/3; atanh by its series up to z¹³.
  const float z = u / (2.0f + u);
  const float z2 = z * z;
  float p = 1.0f / 13.0f;
  p = p * z2 + 1.0f / 11.0f;
  p = p * z2 + 1.0f / 9.0f;
  p = p * z2 + 1.0f / 7.0f;
  p = p * z2 + 1.0f / 5.0f;
  p = p * z2 + 1.0f / 3.0f;
  return 2.0f * z + 2.0f * z * z2 * p;
}

/// −y·ln p − (1 − y)·ln(1 − p) with p = σ(logit), for targets y in [0, 1]: max(t, 0) − t·y + ln(1 + e^−|t|).
BRIGHTNET_HD LossTerm cross_entropy(float logit, float target) {
  const float e = fast_exp(-std::fabs(logit));
  const float probability = (logit < 0 ? e : 1.0f) / (1.0f + e);
  return {(logit < 0 ? 0.0f : logit) - logit * target + fast_log1p(e), probability - target};
}

/// |p − y|^γ times the cross-entropy. For y of 0 or 1 that is the focal loss (Lin et al. 2017)
/// without α; for smoothed targets its continuation (Li et al. 2020, "quality focal loss"). γ = 0 is
/// the plain cross-entropy.
BRIGHTNET_HD LossTerm focal_cross_entropy(float logit, float target, float gamma) {
  const LossTerm plain = cross_entropy(logit, target);
  if (gamma <= 0) return plain;
  const float e = fast_exp(-std::fabs(logit));
  const float probability_derivative = e / ((1.0f + e) * (1.0f + e));
  const float difference = plain.derivative;
  // The floor keeps |p − y|^(γ−1) finite at p = y.
  const float distance = std::fabs(difference) > 1e-7f ? std::fabs(difference) : 1e-7f;
  const float factor = std::pow(distance, gamma);
  const float factor_derivative =
      gamma * factor * probability_derivative * difference / (distance * distance);
  return {factor * plain.value, factor * difference + factor_derivative * plain.value};
}

/// Label smoothing by ε: positive targets become 1 − ε/2, negative ones ε/2.
BRIGHTNET_HD float smooth_target(bool positive, float epsilon) {
  return positive ? 1.0f - 0.5f * epsilon : 0.5f * epsilon;
}

}  // namespace brightnet
