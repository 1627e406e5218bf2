// Activations and their derivatives, once for both devices, in a form that host compilers vectorise.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include "kernels/math/hd.h"

#ifndef __CUDA_ARCH__
#include <cmath>
#endif

namespace brightnet {

/// leaky: x < 0 ? 0.1·x : x (darknet). mish: x·tanh(ln(1+eˣ)). swish: x·σ(x). logistic: σ(x).
/// hardswish: x·min(max(x + 3, 0), 6)/6 (Howard et al. 2019, "Searching for MobileNetV3", §5.2).
enum class Activation : uint8_t { linear, relu, leaky, mish, swish, logistic, hardswish };

constexpr std::string_view enum_name(Activation activation) {
  switch (activation) {
    case Activation::linear: return "linear";
    case Activation::relu: return "relu";
    case Activation::leaky: return "leaky";
    case Activation::mish: return "mish";
    case Activation::swish: return "swish";
    case Activation::logistic: return "logistic";
    case Activation::hardswish: return "hardswish";
  }
  return {};
}

#ifdef __CUDA_ARCH__
// A GPU's instructions for 2ˣ and 1/x: to 2 ulp, and subnormal numbers are 0. A test defines them as well, to see what
// that makes of the formulas.
#define BRIGHTNET_APPROXIMATES
__device__ __forceinline__ float approximate_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float approximate_reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
#endif

/// eˣ for x in float's range, to 2 ulp or so; branch-free, so that loops over it vectorise on the host.
BRIGHTNET_HD float fast_exp(float x) {
#ifdef BRIGHTNET_APPROXIMATES
  return approximate_exp2(x * 1.44269504089f);
#else
  // eˣ = 2ⁿ·e^r with n = round(x/ln 2) and |r| ≤ ln 2/2; e^r by its Taylor polynomial of degree 7.
  x = x < -87.0f ? -87.0f : x;
  x = x > 88.0f ? 88.0f : x;
  const float n = std::nearbyint(x * 1.44269504089f);
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.98412698e-4f;
  p = p * r + 1.38888889e-3f;
  p = p * r + 8.33333333e-3f;
  p = p * r + 4.16666667e-2f;
  p = p * r + 1.66666667e-1f;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  return p * std::bit_cast<float>((static_cast<int32_t>(n) + 127) << 23);
#endif
}

/// a / b for |b| < 2¹²⁶; on the GPU to 2 ulp, since its exact division takes as long as the rest
/// of a formula.
BRIGHTNET_HD float divide(float a, float b) {
#ifdef BRIGHTNET_APPROXIMATES
  return a * approximate_reciprocal(b);
#else
  return a / b;
#endif
}

BRIGHTNET_HD float logistic(float x) {
  return divide(1.0f, 1.0f + fast_exp(-x));
}

/// tanh(softplus(x)) without a logarithm: with u = eˣ, it is (u² + 2u) / (u² + 2u + 2). Above 20 it is 1 to
/// the last bit, and u² would overflow.
BRIGHTNET_HD float mish_gate(float x) {
  const float u = fast_exp(x < 20.0f ? x : 20.0f);
  const float q = u * (u + 2.0f);
  return divide(q, q + 2.0f);
}

/// min(max(x + 3, 0), 6)/6
BRIGHTNET_HD float hard_gate(float x) {
  const float gate = (x + 3.0f) * (1.0f / 6.0f);
  const float above = gate > 0 ? gate : 0.0f;
  return above < 1 ? above : 1.0f;
}

template <Activation A>
BRIGHTNET_HD float activate(float x) {
  if constexpr (A == Activation::relu) {
    return x > 0 ? x : 0.0f;
  } else if constexpr (A == Activation::leaky) {
    return x > 0 ? x : 0.1f * x;
  } else if constexpr (A == Activation::mish) {
    return x * mish_gate(x);
  } else if constexpr (A == Activation::swish) {
    return x * logistic(x);
  } else if constexpr (A == Activation::logistic) {
    return logistic(x);
  } else if constexpr (A == Activation::hardswish) {
    return x * hard_gate(x);
  } else {
    static_assert(A == Activation::linear, "activate() has no formula of this activation");
    return x;
  }
}

/// d activate(x) / dx, from x.
template <Activation A>
BRIGHTNET_HD float activation_gradient(float x) {
  if constexpr (A == Activation::relu) {
    return x > 0 ? 1.0f : 0.0f;
  } else if constexpr (A == Activation::leaky) {
    return x > 0 ? 1.0f : 0.1f;
  } else if constexpr (A == Activation::mish) {
    const float u = fast_exp(x < 20.0f ? x : 20.0f);
    const float h = u * (0.5f * u + 1.0f);
    const float p = divide(1.0f, h + 1.0f);
    // gate = h·p, d gate/dx = gate'(u)·u = u(u+1)·p²
    return h * p + x * (u * u + u) * (p * p);
  } else if constexpr (A == Activation::swish) {
    const float s = logistic(x);
    return s + x * s * (1.0f - s);
  } else if constexpr (A == Activation::logistic) {
    const float s = logistic(x);
    return s * (1.0f - s);
  } else if constexpr (A == Activation::hardswish) {
    const float gate = hard_gate(x);
    return gate + (gate > 0 && gate < 1 ? x * (1.0f / 6.0f) : 0.0f);
  } else {
    static_assert(A == Activation::linear, "activation_gradient() has no derivative of this activation");
    return 1.0f;
  }
}

/// Calls f.template operator()<A>() for the activation known only at run time. In a kernel all threads take
/// the same branch, once a vector, or once for all vectors where registers are scarce (a loop inside `f`
/// keeps no unpacked vectors over the branch); a kernel compiled for each activation would be little faster,
/// and the program six times larger.
BRIGHTNET_HD_CALLER
template <typename Function>
BRIGHTNET_HD_INLINE void with_activation(Activation activation, Function&& f) {
  switch (activation) {
    case Activation::linear: return f.template operator()<Activation::linear>();
    case Activation::relu: return f.template operator()<Activation::relu>();
    case Activation::leaky: return f.template operator()<Activation::leaky>();
    case Activation::mish: return f.template operator()<Activation::mish>();
    case Activation::swish: return f.template operator()<Activation::swish>();
    case Activation::logistic: return f.template operator()<Activation::logistic>();
    case Activation::hardswish: return f.template operator()<Activation::hardswish>();
  }
}

}  // namespace brightnet
