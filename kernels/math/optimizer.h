// The rules of the optimizers, once for both devices, which only walk memory. A rule is a struct:
//
//   name           in the configuration and in tables
//   moments        how many numbers it keeps of every parameter: 1 or 2
//   state_names    their names in a saved run
//   corrected()    the decays β of moments that are biased towards their start, zero: check_step() sets
//                  StepState::first_correction and second_correction to 1/(1 − βᵗ); 0: 1
//   operator()     the step of one parameter
//
// and has its place in OptimizerRule.
#pragma once

#include <array>
#include <string_view>
#include <variant>

#include "kernels/math/activation.h"
#include "kernels/math/hd.h"

#ifndef __CUDA_ARCH__
#include <cmath>
#endif

namespace brightnet {

/// One parameter w, the derivative g of the mean loss by it, and its moments.
struct Parameter {
  float value, gradient, first, second;
};

/// The numbers that all parameters of a range share in a step.
struct RangeStep {
  float rate, decay, first_correction, second_correction;
};

/// Stochastic gradient descent with momentum; v is the first moment:
///
///     g' = g + decay · w
///     v  = momentum · v + g'
///     w −= rate · (nesterov ? g' + momentum · v : v)
///
/// Coupled decay is darknet's L2: it enters the momentum. Decoupled decay (Loshchilov & Hutter 2019) is no
/// part of g'; w −= rate·decay·w is applied along with the update, with the old w.
struct Sgd {
  static constexpr std::string_view name = "sgd";
  static constexpr int moments = 1;
  static constexpr std::string_view state_names[moments]{"momentum"};

  float momentum = 0.9f;
  bool nesterov = false;
  bool decoupled = false;

  std::array<float, 2> corrected() const { return {}; }

  BRIGHTNET_HD_INLINE void operator()(const RangeStep& step, Parameter& p) const {
    const float coupled = decoupled ? 0.0f : step.decay;
    const float kept = 1.0f - (decoupled ? step.rate * step.decay : 0.0f);
    const float g = p.gradient + coupled * p.value;
    p.first = momentum * p.first + g;
    p.value = kept * p.value - step.rate * (nesterov ? g + momentum * p.first : p.first);
  }
};

/// AdamW (Loshchilov & Hutter 2019, algorithm 2); m and v are the moments:
///
///     m  = β₁ m + (1 − β₁) g        v = β₂ v + (1 − β₂) g²
///     w −= rate · ( m/(1 − β₁ᵗ) / (√(v/(1 − β₂ᵗ)) + ε) + decay · w )
struct AdamW {
  static constexpr std::string_view name = "adamw";
  static constexpr int moments = 2;
  static constexpr std::string_view state_names[moments]{"first", "second"};

  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;

  std::array<float, 2> corrected() const { return {beta1, beta2}; }

  BRIGHTNET_HD_INLINE void operator()(const RangeStep& step, Parameter& p) const {
    p.first = beta1 * p.first + (1.0f - beta1) * p.gradient;
    p.second = beta2 * p.second + (1.0f - beta2) * p.gradient * p.gradient;
    // The GPU's exact division is a call, around which registers would be spilled.
    const float direction =
        divide(p.first * step.first_correction, std::sqrt(p.second * step.second_correction) + epsilon);
    p.value -= step.rate * (direction + step.decay * p.value);
  }
};

/// Lion (Chen et al. 2023, "Symbolic Discovery of Optimization Algorithms", algorithm 2); m is the first moment:
///
///     c  = β₁ m + (1 − β₁) g
///     w −= rate · (sign(c) + decay · w)        sign(0) = 0
///     m  = β₂ m + (1 − β₂) g
///
/// Of a gradient only the sign matters, so m needs no correction for its start at zero.
struct Lion {
  static constexpr std::string_view name = "lion";
  static constexpr int moments = 1;
  static constexpr std::string_view state_names[moments]{"first"};

  float beta1 = 0.9f, beta2 = 0.99f;

  std::array<float, 2> corrected() const { return {}; }

  BRIGHTNET_HD_INLINE void operator()(const RangeStep& step, Parameter& p) const {
    const float direction = beta1 * p.first + (1.0f - beta1) * p.gradient;
    const float sign = direction > 0 ? 1.0f : direction < 0 ? -1.0f : 0.0f;
    p.first = beta2 * p.first + (1.0f - beta2) * p.gradient;
    p.value -= step.rate * (sign + step.decay * p.value);
  }
};

/// The rule of an optimizer's step, with its settings.
using OptimizerRule = std::variant<Sgd, AdamW, Lion>;

}  // namespace brightnet
