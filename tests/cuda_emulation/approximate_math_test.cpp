// The activations and losses with a GPU's instructions for 2ˣ and 1/x, whose results are approximate, overflow to
// infinity and underflow to 0: the formulas must not make a NaN, an infinity or a wrong limit of that. The emulated
// kernels compute with the host's.
#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

// A copy of the formulas in a namespace of their own, beside the host's in this program.
#define brightnet brightnet_on_a_gpu
#define BRIGHTNET_APPROXIMATES
namespace brightnet {

int errors_of_instructions = 0;  ///< in units in the last place, −1 to 1

inline float flushed(float x) {
  return std::fabs(x) < FLT_MIN ? std::copysign(0.0f, x) : x;
}
inline float off_by_errors(double exact) {
  const auto rounded = static_cast<float>(exact);
  if (!std::isnormal(rounded) || rounded == 1.0f) return flushed(rounded);
  return flushed(std::bit_cast<float>(std::bit_cast<int32_t>(rounded) + errors_of_instructions));
}
/// ex2.approx.ftz.f32 and rcp.approx.ftz.f32 (PTX ISA).
inline float approximate_exp2(float x) {
  return off_by_errors(std::exp2(static_cast<double>(flushed(x))));
}
inline float approximate_reciprocal(float x) {
  return off_by_errors(1.0 / static_cast<double>(flushed(x)));
}

}  // namespace brightnet
#include "kernels/math/activation.h"
#include "kernels/math/box.h"
#include "kernels/math/loss.h"
#undef brightnet

namespace brightnet_on_a_gpu {
namespace {

constexpr Activation all_activations[] = {Activation::linear,   Activation::relu,  Activation::leaky,
                                          Activation::mish,     Activation::swish, Activation::logistic,
                                          Activation::hardswish};

double softplus(double x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

struct Exact {
  double value, derivative;
};
Exact exact(Activation activation, double x) {
  const double s = 1 / (1 + std::exp(-x)), gate = std::tanh(softplus(x)),
               hard = std::clamp(x + 3, 0.0, 6.0) / 6;
  switch (activation) {
    case Activation::linear: return {x, 1};
    case Activation::relu: return {std::max(x, 0.0), x > 0 ? 1.0 : 0.0};
    case Activation::leaky: return {x > 0 ? x : 0.1 * x, x > 0 ? 1 : 0.1};
    case Activation::mish: return {x * gate, gate + x * (1 - gate * gate) * s};
    case Activation::swish: return {x * s, s + x * s * (1 - s)};
    case Activation::logistic: return {s, s * (1 - s)};
    case Activation::hardswish: return {x * hard, hard + (hard > 0 && hard < 1 ? x / 6 : 0)};
  }
  return {};
}

/// With every error of the instructions.
template <typename Check>
void for_each_number(Check&& check) {
  for (errors_of_instructions = -1; errors_of_instructions <= 1; ++errors_of_instructions) {
    for (double x = -30; x <= 30; x += 0.0037) check(static_cast<float>(x));
    // Where 2ˣ and 1/x leave fp32's normal numbers, and far beyond: the end of fp16, and more.
    for (const float limit : {86.0f, 87.0f, 87.33f, 87.34f, 88.0f, 88.02f, 88.03f, 88.72f, 88.73f, 89.0f,
                              103.0f, 104.0f, 126.0f, 127.0f, 128.0f, 129.0f, 1e3f, 65504.0f, 1e6f}) {
      check(limit);
      check(-limit);
    }
    for (const float tiny : {0.0f, FLT_MIN, 1e-39f, 1e-45f}) {
      check(tiny);
      check(-tiny);
    }
  }
  errors_of_instructions = 0;
}

TEST(ApproximateMath, IsWhatTheInstructionsDo) {
  EXPECT_EQ(fast_exp(-88.0f), 0) << "subnormal";
  EXPECT_EQ(fast_exp(89.0f), std::numeric_limits<float>::infinity());
  EXPECT_EQ(divide(1.0f, std::numeric_limits<float>::infinity()), 0);
  EXPECT_EQ(divide(1.0f, 1.0e38f), 0) << "subnormal";
  EXPECT_NEAR(fast_exp(1.0f), 2.7182818f, 1e-6f);
}

TEST(ApproximateMath, ActivationsEqualTheirDefinitionsUpToTheLimits) {
  for (const Activation activation : all_activations) {
    with_activation(activation, [&]<Activation A>() {
      for_each_number([&](float x) {
        const Exact expected = exact(A, static_cast<double>(x));
        ASSERT_NEAR(static_cast<double>(activate<A>(x)), expected.value,
                    1e-9 + 4e-6 * std::fabs(expected.value))
            << enum_name(A) << " at " << x;
        const bool kink = x == 0 || std::fabs(std::fabs(x) - 3) < 1e-6f;
        if (kink) return;
        ASSERT_NEAR(static_cast<double>(activation_gradient<A>(x)), expected.derivative, 4e-6)
            << enum_name(A) << " at " << x;
      });
    });
  }
}

TEST(ApproximateMath, CrossEntropiesEqualTheirDefinitionsUpToTheLimits) {
  for (const double target : {0.0, 0.05, 1.0}) {
    for_each_number([&](float logit) {
      const double t = static_cast<double>(logit), p = 1 / (1 + std::exp(-t));
      const double expected = std::max(t, 0.0) - t * target + std::log1p(std::exp(-std::fabs(t)));
      const LossTerm plain = cross_entropy(logit, static_cast<float>(target));
      ASSERT_NEAR(static_cast<double>(plain.value), expected, 1e-6 + 2e-6 * std::fabs(expected)) << logit;
      ASSERT_NEAR(static_cast<double>(plain.derivative), p - target, 2e-6) << logit;
      const LossTerm focal = focal_cross_entropy(logit, static_cast<float>(target), 1.5f);
      ASSERT_TRUE(std::isfinite(focal.value) && std::isfinite(focal.derivative)) << logit;
    });
  }
}

TEST(ApproximateMath, DecodedBoxesEqualTheirDefinitionsUpToTheLimits) {
  for (const float scale_xy : {1.0f, 1.05f, 2.0f}) {
    for_each_number([&](float t) {
      const double s = 1 / (1 + std::exp(-static_cast<double>(t))), scale = static_cast<double>(scale_xy);
      ASSERT_NEAR(static_cast<double>(decode_center(t, 7, 19, scale_xy)),
                  (s * scale - (scale - 1) / 2 + 7) / 19, 4e-7)
          << t;
      ASSERT_NEAR(static_cast<double>(center_derivative(t, 19, scale_xy)), scale * s * (1 - s) / 19, 4e-7)
          << t;
    });
  }
  for (const bool new_coords : {false, true}) {
    for_each_number([&](float t) {
      constexpr float anchor = 0.25f;
      const double limited = std::clamp(static_cast<double>(t), -10.0, 10.0),
                   s = 1 / (1 + std::exp(-limited));
      const double size = 0.25 * (new_coords ? 4 * s * s : std::exp(limited));
      const float decoded = decode_size(t, anchor, new_coords);
      ASSERT_NEAR(static_cast<double>(decoded), size, 3e-6 * size) << t;
      const double derivative = std::fabs(t) > 10 ? 0 : size * (new_coords ? 2 * (1 - s) : 1);
      ASSERT_NEAR(static_cast<double>(size_derivative(t, decoded, new_coords)), derivative,
                  1e-12 + 4e-6 * size)
          << t;
    });
  }
}

}  // namespace
}  // namespace brightnet_on_a_gpu
