// Convolutions in 8 bits, and what they are fed with, against their definition in fp64.
#include "kernels/cpu/quantized_convolution.h"

#include "core/enum_names.h"
#include "tests/kernels/reference.h"

namespace brightnet::testing {
namespace {

struct Case {
  Shape input;
  int filters, kernel, stride, padding, groups = 1;
};

ConvolutionSpec spec_of(const Case& c, const QuantizedRange& range, Activation activation,
                        bool eight_bits_out) {
  ConvolutionSpec spec;
  spec.input = c.input;
  spec.output = {c.input.n, (c.input.h + 2 * c.padding - c.kernel) / c.stride + 1,
                 (c.input.w + 2 * c.padding - c.kernel) / c.stride + 1, c.filters};
  spec.kernel = c.kernel;
  spec.stride = c.stride;
  spec.padding = c.padding;
  spec.groups = c.groups;
  spec.training = false;
  spec.bias = true;
  spec.activation = activation;
  spec.quantized.emplace();
  spec.quantized->input = range;
  Random random(3, Purpose::test);
  for (int o = 0; o < c.filters; ++o) spec.quantized->weight_scales.push_back(random.uniform(0.5e-3f, 2e-3f));
  if (eight_bits_out) spec.quantized->output = QuantizedRange{0.05f, 31};
  return spec;
}

/// activation(Σ w̃·x + bias) in fp64 for each output, w̃ the rounded weights.
std::vector<double> definition(const ConvolutionSpec& spec, const std::vector<double>& x,
                               const std::vector<double>& w, const std::vector<double>& bias) {
  const Shape &in = spec.input, &out = spec.output;
  const int inputs = in.c / spec.groups, outputs = out.c / spec.groups;
  std::vector<double> y(out.count());
  for (size_t i = 0; i < y.size(); ++i) {
    const int o = static_cast<int>(i % out.c), column = static_cast<int>(i / out.c % out.w),
              row = static_cast<int>(i / out.c / out.w % out.h),
              image = static_cast<int>(i / out.c / out.w / out.h);
    const float scale = spec.quantized->weight_scales[static_cast<size_t>(o)];
    double sum = bias[static_cast<size_t>(o)];
    for (int ky = 0; ky < spec.kernel; ++ky) {
      for (int kx = 0; kx < spec.kernel; ++kx) {
        const int iy = row * spec.stride + ky - spec.padding, ix = column * spec.stride + kx - spec.padding;
        if (iy < 0 || ix < 0 || iy >= in.h || ix >= in.w) continue;
        for (int c = 0; c < inputs; ++c) {
          const size_t at = ((static_cast<size_t>(o) * spec.kernel + ky) * spec.kernel + kx) * inputs + c;
          const double weight = std::clamp(std::nearbyint(w[at] / scale), -127.0, 127.0) * scale;
          const double q = x[index(in, image, iy, ix, o / outputs * inputs + c)];
          sum += weight * spec.quantized->input.scale * (q - spec.quantized->input.zero_point);
        }
      }
    }
    with_activation(spec.activation, [&]<Activation A>() { sum = activate<A>(static_cast<float>(sum)); });
    y[i] = sum;
  }
  return y;
}

class QuantizedConvolutionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cpu::has_int8_products()) GTEST_SKIP() << "this CPU does not sum 8-bit products exactly";
  }

  static void expect_definition(const ConvolutionSpec& spec) {
    const auto convolution = device().plan_convolution(spec);
    const auto room = [](size_t bytes) { return OwnedTensor({1, 1, 1, static_cast<int>(bytes / 4 + 1)}); };
    const OwnedTensor working = room(convolution->weight_bytes()),
                      workspace = room(convolution->workspace_bytes());
    convolution->bind((*working).data, (*workspace).data);
    OwnedTensor x(spec.input, DType::u8), weights({1, 1, 1, static_cast<int>(spec.weight_count())}),
        bias({1, 1, 1, spec.output.c}), y(spec.output, spec.quantized->output ? DType::u8 : DType::f32);
    Random random(7, Purpose::test);
    for (size_t i = 0; i < x.count(); ++i) x.set(i, static_cast<double>(random.below(256)));
    weights.randomize(1, 0.05f);
    bias.randomize(2, 0.5f);
    convolution->prepare(weights.floats());
    convolution->forward(*x, bias.floats(), *y);
    const std::vector<double> expected = definition(spec, x.values(), weights.values(), bias.values());
    for (size_t i = 0; i < expected.size(); ++i) {
      if (!spec.quantized->output) {
        ASSERT_NEAR(y[i], expected[i], 3e-5 * (1 + std::abs(expected[i]))) << i << convolution->description();
        continue;
      }
      // Half a step of rounding, and fp32's own error where the sum lies in the middle between two steps.
      const QuantizedRange& range = *spec.quantized->output;
      const double inside = std::clamp<double>(expected[i], range.least(), range.most());
      ASSERT_NEAR(range.scale * (y[i] - range.zero_point), inside, 0.5 * range.scale + 1e-4)
          << i << convolution->description();
    }
  }
};

TEST_F(QuantizedConvolutionTest, AgreesWithTheDefinition) {
  // The first layer's three channels, channels that fill no block, a padded border, strides, groups, a batch.
  for (const Case& c : {Case{{1, 19, 17, 3}, 32, 3, 2, 1}, Case{{2, 13, 13, 64}, 24, 1, 1, 0},
                        Case{{1, 9, 11, 32}, 64, 3, 1, 1}, Case{{1, 7, 7, 20}, 36, 5, 2, 2},
                        Case{{1, 8, 8, 16}, 16, 3, 1, 1, 16}, Case{{1, 8, 8, 32}, 48, 3, 1, 1, 4}}) {
    for (const QuantizedRange& range :
         {QuantizedRange{0.02f, 0}, QuantizedRange{0.02f, 23}, QuantizedRange{0.02f, 128}}) {
      for (const bool eight_bits_out : {false, true})
        expect_definition(spec_of(c, range, Activation::leaky, eight_bits_out));
    }
  }
}

TEST_F(QuantizedConvolutionTest, AppliesEveryActivationBeforeItRounds) {
  for (const Activation activation : enum_values<Activation>()) {
    for (const bool eight_bits_out : {false, true}) {
      for (const Case& c : {Case{{1, 9, 9, 16}, 24, 3, 1, 1}, Case{{1, 4, 26, 32}, 64, 3, 1, 1, 4},
                            Case{{1, 9, 9, 16}, 16, 3, 1, 1, 16}})
        expect_definition(spec_of(c, {0.02f, 23}, activation, eight_bits_out));
    }
  }
}

TEST(Quantize, RoundsToTheNearestStepAndSaturates) {
  const QuantizedRange range{0.5f, 10};
  OwnedTensor x({1, 2, 3, 2}), y({1, 2, 3, 2}, DType::u8);
  x.set(std::vector<double>{0, 0.24, 0.26, 0.25, 0.75, -5, -5.3, 122.5, 122.6, 1e9, -1e9, std::nan("")});
  device().quantize(*x, range, *y);
  EXPECT_EQ(y.values(), (std::vector<double>{10, 10, 11, 10, 12, 0, 0, 255, 255, 255, 0, 0}));
}

TEST(Quantize, WhatMovesOrComparesValuesTakesBytes) {
  const Shape in{2, 6, 10, 12};
  OwnedTensor x(in, DType::u8), wide(in);
  Random random(5, Purpose::test);
  for (size_t i = 0; i < in.count(); ++i) x.set(i, static_cast<double>(random.below(256)));
  wide.set(x.values());
  const auto expect_same = [&](const Shape& out, auto&& operation) {
    OwnedTensor bytes(out, DType::u8), floats(out);
    operation(*x, *bytes);
    operation(*wide, *floats);
    EXPECT_EQ(bytes.values(), floats.values()) << to_string(out);
  };
  for (const int window : {2, 3, 5}) {
    for (const int stride : {1, 2}) {
      expect_same({2, (6 - 1) / stride + 1, (10 - 1) / stride + 1, 12},
                  [&](const Tensor& from, const Tensor& to) {
                    device().max_pool_forward({window, stride, window - 1}, from, to, {});
                  });
    }
  }
  expect_same({2, 12, 20, 12},
              [&](const Tensor& from, const Tensor& to) { device().upsample_forward(2, from, to); });
  expect_same({2, 3, 5, 48},
              [&](const Tensor& from, const Tensor& to) { device().space_to_depth(2, from, to); });
  expect_same(in,
              [&](const Tensor& from, const Tensor& to) { device().shuffle_channels(4, from, to, false); });
  expect_same({2, 6, 10, 5}, [&](const Tensor& from, const Tensor& to) {
    device().copy_channels(from, 3, to, 0, 5, false);
  });
}

}  // namespace
}  // namespace brightnet::testing
