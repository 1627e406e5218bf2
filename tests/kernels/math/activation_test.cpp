// The scalar functions under the activations and the losses, against the standard library's in fp64.
#include "kernels/math/activation.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include <gtest/gtest.h>

#include "core/enum_names.h"
#include "kernels/math/loss.h"
#include "tests/kernels/yolo_reference.h"

namespace brightnet {
namespace {

double softplus(double x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

double exact(Activation a, double x) {
  switch (a) {
    case Activation::linear: return x;
    case Activation::relu: return x > 0 ? x : 0;
    case Activation::leaky: return x > 0 ? x : 0.1 * x;
    case Activation::mish: return x * std::tanh(softplus(x));
    case Activation::swish: return x / (1 + std::exp(-x));
    case Activation::logistic: return 1 / (1 + std::exp(-x));
    case Activation::hardswish: return x * std::clamp(x + 3, 0.0, 6.0) / 6;
  }
  return 0;
}

const std::vector<Activation> all_activations = enum_values<Activation>();

TEST(Activation, HasTheNamesThatModelsCallItBy) {
  const std::vector<std::string> names{"linear", "relu", "leaky", "mish", "swish", "logistic", "hardswish"};
  EXPECT_EQ(enum_names<Activation>(), names);
  for (const Activation activation : all_activations)
    EXPECT_EQ(enum_value<Activation>(enum_name(activation)), activation);
}

TEST(FastExp, IsWithinThreeInTenMillion) {
  double worst = 0;
  for (double x = -87; x <= 88; x += 0.00037) {
    const float argument = static_cast<float>(x);
    worst = std::max(worst, std::fabs(fast_exp(argument) / std::exp(double{argument}) - 1));
  }
  EXPECT_LT(worst, 3e-7);
  RecordProperty("worst", std::to_string(worst));
}

TEST(FastExp, SaturatesBeyondFloatsRange) {
  EXPECT_EQ(fast_exp(1e4f), fast_exp(88.0f));
  EXPECT_EQ(fast_exp(-FLT_MAX), fast_exp(-87.0f));
  EXPECT_TRUE(std::isfinite(fast_exp(FLT_MAX)));
  EXPECT_GT(fast_exp(-FLT_MAX), 0);
  EXPECT_TRUE(std::isnan(fast_exp(NAN)));
}

TEST(FastLog1p, IsWithinThreeInTenMillionEvenForTinyArguments) {
  for (double u = 1e-38; u <= 1; u *= 1.003) {
    const float argument = static_cast<float>(u);
    ASSERT_NEAR(fast_log1p(argument) / std::log1p(double{argument}), 1, 3e-7) << u;
  }
  EXPECT_NEAR(fast_log1p(1.0f), std::log(2.0), 1e-7);
  EXPECT_EQ(fast_log1p(0.0f), 0);
}

TEST(Activations, EqualTheirDefinitions) {
  for (Activation a : all_activations) {
    with_activation(a, [&]<Activation A>() {
      for (double x = -30; x <= 30; x += 0.0013) {
        const float argument = static_cast<float>(x);
        const double expected = exact(A, argument);
        ASSERT_NEAR(activate<A>(argument), expected, 1e-9 + 2e-6 * std::fabs(expected))
            << "activation " << static_cast<int>(A) << " at " << x;
      }
    });
  }
}

TEST(Activations, DerivativesEqualFiniteDifferences) {
  for (Activation a : all_activations) {
    with_activation(a, [&]<Activation A>() {
      for (double x = -30.0005; x <= 30; x += 0.0013) {
        const double argument = static_cast<float>(x);
        // The kinks of relu and leaky, and of hardswish.
        if (std::fabs(argument) < 1e-4 || std::fabs(std::fabs(argument) - 3) < 1e-4) continue;
        const double expected = (exact(A, argument + 1e-5) - exact(A, argument - 1e-5)) / 2e-5;
        ASSERT_NEAR(activation_gradient<A>(static_cast<float>(argument)), expected, 2e-6)
            << "activation " << static_cast<int>(A) << " at " << x;
      }
    });
  }
}

TEST(Activations, AreFiniteAndRightFarOut) {
  for (Activation a : all_activations) {
    with_activation(a, [&]<Activation A>() {
      for (float x : {-1e4f, -100.0f, -88.0f, 88.0f, 100.0f, 1e4f}) {
        const double limit = A == Activation::logistic          ? x > 0
                             : x > 0 || A == Activation::linear ? x
                             : A == Activation::leaky           ? 0.1 * x
                                                                : 0.0;
        EXPECT_NEAR(activate<A>(x), limit, 1e-30 + 1e-6 * std::fabs(limit))
            << static_cast<int>(A) << " at " << x;
        EXPECT_TRUE(std::isfinite(activation_gradient<A>(x)));
      }
    });
  }
}

TEST(CrossEntropy, EqualsItsDefinitionAndFiniteDifferences) {
  for (float gamma : {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 5.0f}) {
    for (float target : {0.0f, 0.05f, 0.5f, 0.95f, 1.0f}) {
      for (double t = -12.003; t < 12; t += 0.0417) {
        const double logit = static_cast<float>(t);
        const auto at = [&](double x) { return reference::cross_entropy(x, target, gamma); };
        const double distance = std::fabs(reference::sigmoid(logit) - target);
        if (gamma > 0 && distance < 1e-3 && target > 0 && target < 1) continue;  // the kink where p meets y
        const LossTerm term = focal_cross_entropy(static_cast<float>(logit), target, gamma);
        ASSERT_NEAR(term.value, at(logit), 1e-6 + 1e-5 * at(logit)) << gamma << " " << target << " " << t;
        const double derivative = (at(logit + 1e-6) - at(logit - 1e-6)) / 2e-6;
        ASSERT_NEAR(term.derivative, derivative, 1e-6 + 1e-4 * std::fabs(derivative))
            << gamma << " " << target << " " << t;
      }
    }
  }
}

TEST(CrossEntropy, IsFiniteForEveryFiniteLogit) {
  for (float gamma : {0.0f, 0.5f, 2.0f}) {
    for (float target : {0.0f, 0.05f, 1.0f}) {
      for (float t : {-FLT_MAX, -1e4f, -88.0f, -1e-40f, 0.0f, 17.0f, 88.0f, 1e4f, FLT_MAX}) {
        const LossTerm term = focal_cross_entropy(t, target, gamma);
        EXPECT_TRUE(std::isfinite(term.value) && term.value >= 0) << t;
        EXPECT_TRUE(std::isfinite(term.derivative)) << t;
      }
    }
  }
  EXPECT_FLOAT_EQ(cross_entropy(-1e4f, 1.0f).value, 1e4f);
  EXPECT_LT(cross_entropy(1e4f, 1.0f).value, 1e-37f);
}

TEST(LabelSmoothing, MovesHalfOfEpsilonToTheOtherSide) {
  EXPECT_FLOAT_EQ(smooth_target(true, 0.1f), 0.95f);
  EXPECT_FLOAT_EQ(smooth_target(false, 0.1f), 0.05f);
  EXPECT_EQ(smooth_target(true, 0.0f), 1);
}

}  // namespace
}  // namespace brightnet
