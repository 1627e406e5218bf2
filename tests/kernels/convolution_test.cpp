// Convolutions against the definition, in fp64, for the shapes that networks use and for odd ones.
#include <gtest/gtest.h>

#include "tests/kernels/device.h"

namespace brightnet {
namespace {

using testing::DeviceTensor;
using testing::random_values;
using testing::relative_error;

struct Case {
  Shape input;
  int filters, kernel, stride, padding;
};

// Calls visit(x index, w index, y index) for every product of the convolution; w is OHWI.
template <typename Visit>
void for_each_product(const ConvolutionSpec& spec, Visit&& visit) {
  const Shape &in = spec.input, &out = spec.output;
  for (int n = 0; n < out.n; ++n)
    for (int y = 0; y < out.h; ++y)
      for (int x = 0; x < out.w; ++x)
        for (int o = 0; o < out.c; ++o)
          for (int ky = 0; ky < spec.kernel; ++ky)
            for (int kx = 0; kx < spec.kernel; ++kx) {
              const int iy = y * spec.stride + ky - spec.padding, ix = x * spec.stride + kx - spec.padding;
              if (iy < 0 || ix < 0 || iy >= in.h || ix >= in.w) continue;
              for (int c = 0; c < in.c; ++c) {
                visit(((static_cast<size_t>(n) * in.h + iy) * in.w + ix) * in.c + c,
                      ((static_cast<size_t>(o) * spec.kernel + ky) * spec.kernel + kx) * in.c + c,
                      ((static_cast<size_t>(n) * out.h + y) * out.w + x) * out.c + o);
              }
            }
}

ConvolutionSpec spec_of(const Case& c, DType type) {
  ConvolutionSpec spec;
  spec.input = c.input;
  spec.output = {c.input.n, (c.input.h + 2 * c.padding - c.kernel) / c.stride + 1,
                 (c.input.w + 2 * c.padding - c.kernel) / c.stride + 1, c.filters};
  spec.kernel = c.kernel;
  spec.stride = c.stride;
  spec.padding = c.padding;
  spec.type = type;
  return spec;
}

class ConvolutionTest : public ::testing::TestWithParam<std::tuple<Case, DType>> {
 protected:
  ConvolutionTest()
      : backend_(make_cpu_backend()),
        type_(std::get<1>(GetParam())),
        tolerance_(type_ == DType::f32 ? 2e-6 : 6e-3) {}

  struct Bound {
    std::unique_ptr<Convolution> convolution;
    std::vector<std::byte> weights, workspace;
  };
  Bound plan(const ConvolutionSpec& spec) {
    Bound bound;
    bound.convolution = backend_->plan_convolution(spec);
    bound.weights.resize(bound.convolution->weight_bytes() + 64);
    bound.workspace.resize(bound.convolution->workspace_bytes() + 64);
    const auto aligned = [](std::vector<std::byte>& memory) {
      return reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(memory.data()) + 63) / 64 * 64);
    };
    bound.convolution->bind(aligned(bound.weights), aligned(bound.workspace));
    return bound;
  }

  std::unique_ptr<Backend> backend_;
  DType type_;
  double tolerance_;
};

TEST_P(ConvolutionTest, AllThreePassesAgreeWithTheDefinition) {
  const ConvolutionSpec spec = spec_of(std::get<0>(GetParam()), type_);
  Bound bound = plan(spec);
  const auto x = random_values(spec.input.count(), 1, type_);
  const auto w = random_values(spec.weight_count(), 2, type_, 0.1f);
  const auto dy = random_values(spec.output.count(), 3, type_);
  DeviceTensor dx_(*backend_, spec.input, type_), x_(*backend_, spec.input, type_),
      y_(*backend_, spec.output, type_), dy_(*backend_, spec.output, type_);
  x_.set(x);
  dy_.set(dy);
  bound.convolution->prepare(w.data());
  bound.convolution->forward(x_, nullptr, y_);
  bound.convolution->backward_data(dy_, dx_);
  std::vector<float> dw(w.size(), std::numeric_limits<float>::quiet_NaN());
  bound.convolution->backward_weights(x_, dy_, dw.data(), false);

  std::vector<double> y(spec.output.count()), dx(x.size()), expected_dw(w.size());
  for_each_product(spec, [&](size_t i, size_t k, size_t o) {
    y[o] += static_cast<double>(x[i]) * w[k];
    dx[i] += static_cast<double>(dy[o]) * w[k];
    expected_dw[k] += static_cast<double>(dy[o]) * x[i];
  });
  EXPECT_LT(relative_error(y_.get(), y), tolerance_);
  EXPECT_LT(relative_error(dx_.get(), dx), tolerance_);
  EXPECT_LT(relative_error(dw, expected_dw), tolerance_);

  bound.convolution->backward_weights(x_, dy_, dw.data(), true);
  for (double& value : expected_dw) value *= 2;
  EXPECT_LT(relative_error(dw, expected_dw), tolerance_) << "accumulating adds the same gradient once more";
}

TEST_P(ConvolutionTest, InferenceFusesBiasAndActivation) {
  for (const Activation activation : {Activation::linear, Activation::relu, Activation::leaky,
                                      Activation::mish, Activation::swish, Activation::logistic}) {
    ConvolutionSpec spec = spec_of(std::get<0>(GetParam()), type_);
    spec.training = false;
    spec.bias = true;
    spec.activation = activation;
    Bound bound = plan(spec);
    const auto x = random_values(spec.input.count(), 1, type_);
    const auto w = random_values(spec.weight_count(), 2, type_, 0.1f);
    const auto bias = random_values(spec.output.c, 4);
    DeviceTensor x_(*backend_, spec.input, type_), y_(*backend_, spec.output, type_);
    x_.set(x);
    bound.convolution->prepare(w.data());
    bound.convolution->forward(x_, bias.data(), y_);
    std::vector<double> y(spec.output.count());
    for (size_t i = 0; i < y.size(); ++i) y[i] = bias[i % bias.size()];
    for_each_product(spec, [&](size_t i, size_t k, size_t o) { y[o] += static_cast<double>(x[i]) * w[k]; });
    for (double& v : y) {
      const double sigmoid = 1 / (1 + std::exp(-v));
      if (activation == Activation::relu) v = std::max(v, 0.0);
      if (activation == Activation::leaky) v = v > 0 ? v : 0.1 * v;
      if (activation == Activation::mish) v *= std::tanh(std::log1p(std::exp(v)));
      if (activation == Activation::swish) v *= sigmoid;
      if (activation == Activation::logistic) v = sigmoid;
    }
    EXPECT_LT(relative_error(y_.get(), y), type_ == DType::f32 ? 1e-5 : 6e-3) << static_cast<int>(activation);
  }
}

// Inference may take a batch in parts; their places in it must be right.
TEST(Convolution, ABatchIsConvolvedAsItsImagesAre) {
  const auto backend = make_cpu_backend();
  for (const DType type : {DType::f32, DType::bf16}) {
    ConvolutionSpec whole = spec_of({{6, 160, 160, 8}, 16, 3, 1, 1}, type), single = whole;
    whole.training = single.training = false;
    single.input.n = single.output.n = 1;
    const auto x = random_values(whole.input.count(), 1, type);
    const auto w = random_values(whole.weight_count(), 2, type, 0.1f);
    const auto convolve = [&](const ConvolutionSpec& spec, const std::vector<float>& images) {
      const auto convolution = backend->plan_convolution(spec);
      std::vector<std::byte> weights(convolution->weight_bytes() + 64),
          workspace(convolution->workspace_bytes() + 64);
      const auto aligned = [](std::vector<std::byte>& bytes) {
        return bytes.data() + (64 - reinterpret_cast<uintptr_t>(bytes.data()) % 64) % 64;
      };
      convolution->bind(aligned(weights), aligned(workspace));
      convolution->prepare(w.data());
      DeviceTensor in(*backend, spec.input, type), out(*backend, spec.output, type);
      in.set(images);
      convolution->forward(in, nullptr, out);
      return out.get();
    };
    const auto together = convolve(whole, x);
    const float rounding = type == DType::f32 ? 1e-5f : 1.0f / 64;
    const size_t in = single.input.count(), out = single.output.count();
    for (size_t i = 0; i < 6; ++i) {
      const auto alone = convolve(single, {x.begin() + static_cast<ptrdiff_t>(i * in),
                                           x.begin() + static_cast<ptrdiff_t>((i + 1) * in)});
      for (size_t k = 0; k < out; ++k)
        ASSERT_NEAR(alone[k], together[i * out + k], rounding * std::max(1.0f, std::abs(alone[k])))
            << i << ' ' << k;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, ConvolutionTest,
                         ::testing::Combine(::testing::Values(Case{{2, 8, 8, 3}, 32, 3, 2, 1},  // the image
                                                              Case{{1, 13, 13, 64}, 32, 3, 1, 1},  // a body
                                                              Case{{3, 7, 5, 48}, 24, 1, 1, 0},
                                                              Case{{1, 13, 13, 32}, 255, 1, 1, 0},  // a head
                                                              Case{{2, 19, 19, 24}, 16, 3, 2, 1},
                                                              Case{{1, 1, 1, 17}, 5, 1, 1, 0},
                                                              Case{{1, 9, 9, 8}, 16, 5, 1, 2}),
                                            ::testing::Values(DType::f32, DType::bf16)));

}  // namespace
}  // namespace brightnet
