#include "core/enum_names.h"
#include "tests/kernels/reference.h"

namespace brightnet::testing {
namespace {

const std::vector<Activation> activations = enum_values<Activation>();

/// The textbook formulas, in double.
double reference(Activation activation, double x) {
  const double sigmoid = 1 / (1 + std::exp(-x));
  switch (activation) {
    case Activation::linear: return x;
    case Activation::relu: return std::max(x, 0.0);
    case Activation::leaky: return x < 0 ? 0.1 * x : x;
    case Activation::mish: return x * std::tanh(std::log1p(std::exp(x)));
    case Activation::swish: return x * sigmoid;
    case Activation::logistic: return sigmoid;
    case Activation::hardswish: return x * std::clamp(x + 3, 0.0, 6.0) / 6;
  }
  return 0;
}

/// Central difference of the reference; exact where the function is linear, and never across the corners of
/// relu and hardswish.
double derivative(Activation activation, double x) {
  const double corner = activation == Activation::hardswish ? std::abs(std::abs(x) - 3) : std::abs(x);
  const double step = std::clamp(corner / 2, 1e-9, 1e-5);
  return (reference(activation, x + step) - reference(activation, x - step)) / (2 * step);
}

/// Both tails, where exponentials over- and underflow, and the middle.
void spread(OwnedTensor& x, uint64_t stream) {
  Random random(5, Purpose::test, 0, stream);
  for (size_t i = 0; i < x.count(); ++i) {
    const float scale = i % 3 == 0 ? 1.0f : i % 3 == 1 ? 8.0f : 80.0f;
    const float value = random.uniform(-scale, scale);
    // The corners of relu and hardswish have no derivative, and bf16 rounds what is near one to it.
    const bool corner = std::abs(value) < 1e-3f || std::abs(std::abs(value) - 3) < 0.02f;
    x.set(i, corner ? 0.5 : value);
  }
}

TEST(Activation, ForwardIsTheTextbookFormula) {
  for (const Activation activation : activations) {
    for (const DType type : compute_types()) {
      for (const Shape& shape : odd_shapes()) {
        OwnedTensor x(shape, type, true), y(shape, type);
        spread(x, 1);
        std::vector<double> expected = x.values();
        for (double& value : expected) value = reference(activation, value);
        device().activation_forward(activation, *x, *y);
        SCOPED_TRACE("activation " + std::to_string(static_cast<int>(activation)));
        expect_near(y, expected, rounding(type) + tested_device().formula_error, 1e-30);
      }
    }
  }
}

TEST(Activation, ForwardWorksInPlace) {
  for (const Activation activation : activations) {
    OwnedTensor x({3, 26, 26, 24}), y({3, 26, 26, 24});
    spread(x, 2);
    device().activation_forward(activation, *x, *y);
    device().activation_forward(activation, *x, *x);
    EXPECT_EQ(x.values(), y.values());
  }
}

TEST(Activation, BackwardIsTheDifferenceQuotient) {
  for (const Activation activation : activations) {
    for (const DType type : compute_types()) {
      for (const Shape& shape : odd_shapes()) {
        OwnedTensor x(shape, type, true), dy(shape, type);
        spread(x, 3);
        dy.randomize(4);
        std::vector<double> expected = dy.values();
        for (size_t i = 0; i < expected.size(); ++i) expected[i] *= derivative(activation, x[i]);
        device().activation_backward(activation, *x, *dy);
        SCOPED_TRACE("activation " + std::to_string(static_cast<int>(activation)));
        // 1 − σ is only as exact as σ: an error of 2⁻²⁴ or so, times dy.
        expect_near(dy, expected, rounding(type) + 4 * tested_device().formula_error, 1e-6);
      }
    }
  }
}

TEST(Activation, NanStaysNan) {
  for (const Activation activation : activations) {
    if (activation == Activation::relu) continue;  // x > 0 ? x : 0 has no room for it
    OwnedTensor x({1, 1, 1, 33}), y({1, 1, 1, 33});
    device().activation_forward(activation, *x, *y);
    for (size_t i = 0; i < y.count(); ++i) EXPECT_TRUE(std::isnan(y[i])) << static_cast<int>(activation);
  }
}

TEST(Activation, RefusesUnlikeTensors) {
  const OwnedTensor x({1, 2, 2, 8}), y({1, 2, 2, 8}, DType::bf16);
  EXPECT_THROW(device().activation_forward(Activation::mish, *x, *y), std::logic_error);
  EXPECT_THROW(device().activation_backward(Activation::mish, *x, *y), std::logic_error);
}

}  // namespace
}  // namespace brightnet::testing
