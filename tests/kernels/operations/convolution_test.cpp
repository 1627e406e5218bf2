// Convolutions against the definition, in fp64, for the shapes that networks use and for odd ones.
#include "core/enum_names.h"
#include "tests/kernels/reference.h"

namespace brightnet::testing {
namespace {

struct ConvolutionCase {
  Shape input;
  int filters, kernel, stride, padding, groups = 1;

  friend std::ostream& operator<<(std::ostream& out, const ConvolutionCase& c) {
    return out << to_string(c.input) << " to " << c.filters << ", " << c.kernel << "x" << c.kernel
               << ", stride " << c.stride << ", groups " << c.groups;
  }
};

// Calls visit(x index, w index, y index) for every product of the convolution; w is OHWI, I those of a group.
template <typename Visit>
void for_each_product(const ConvolutionSpec& spec, Visit&& visit) {
  const Shape &in = spec.input, &out = spec.output;
  const int inputs = in.c / spec.groups, outputs = out.c / spec.groups;
  for (int n = 0; n < out.n; ++n)
    for (int y = 0; y < out.h; ++y)
      for (int x = 0; x < out.w; ++x)
        for (int o = 0; o < out.c; ++o)
          for (int ky = 0; ky < spec.kernel; ++ky)
            for (int kx = 0; kx < spec.kernel; ++kx) {
              const int iy = y * spec.stride + ky - spec.padding, ix = x * spec.stride + kx - spec.padding;
              if (iy < 0 || ix < 0 || iy >= in.h || ix >= in.w) continue;
              for (int c = 0; c < inputs; ++c) {
                visit(((static_cast<size_t>(n) * in.h + iy) * in.w + ix) * in.c + o / outputs * inputs + c,
                      ((static_cast<size_t>(o) * spec.kernel + ky) * spec.kernel + kx) * inputs + c,
                      ((static_cast<size_t>(n) * out.h + y) * out.w + x) * out.c + o);
              }
            }
}

ConvolutionSpec spec_of(const ConvolutionCase& c, DType type) {
  ConvolutionSpec spec;
  spec.input = c.input;
  spec.output = {c.input.n, (c.input.h + 2 * c.padding - c.kernel) / c.stride + 1,
                 (c.input.w + 2 * c.padding - c.kernel) / c.stride + 1, c.filters};
  spec.kernel = c.kernel;
  spec.stride = c.stride;
  spec.padding = c.padding;
  spec.groups = c.groups;
  spec.type = type;
  return spec;
}

/// A plan and its memory on the device.
struct BoundConvolution {
  std::unique_ptr<Convolution> convolution;
  OwnedTensor weights, workspace;

  explicit BoundConvolution(const ConvolutionSpec& spec)
      : convolution(device().plan_convolution(spec)),
        weights(room(convolution->weight_bytes())),
        workspace(room(convolution->workspace_bytes())) {
    convolution->bind((*weights).data, (*workspace).data);
  }
  static OwnedTensor room(size_t bytes) { return OwnedTensor({1, 1, 1, static_cast<int>(bytes / 4 + 1)}); }
};

OwnedTensor numbers(size_t count) {
  return OwnedTensor({1, 1, 1, static_cast<int>(count)});
}

/// Working weights are rounded to the type, and so are the reference's.
OwnedTensor master_weights(const ConvolutionSpec& spec) {
  OwnedTensor weights = numbers(spec.weight_count());
  weights.randomize(2, 0.1f);
  for (size_t i = 0; i < weights.count(); ++i)
    weights.set(i, rounded(static_cast<float>(weights[i]), spec.type));
  return weights;
}

class ConvolutionTest : public ::testing::TestWithParam<ConvolutionCase> {};

TEST_P(ConvolutionTest, AllThreePassesAgreeWithTheDefinition) {
  for (const DType type : compute_types()) {
    const ConvolutionSpec spec = spec_of(GetParam(), type);
    // A GPU's engines add up in orders of their own.
    const double tolerance = type == DType::f32 ? 2e-6 + tested_device().formula_error : 1.5 * rounding(type);
    BoundConvolution bound(spec);
    OwnedTensor x(spec.input, type), dx(spec.input, type), y(spec.output, type), dy(spec.output, type);
    OwnedTensor w = master_weights(spec), dw = numbers(spec.weight_count());
    x.randomize(1);
    dy.randomize(3);
    bound.convolution->prepare(w.floats());
    bound.convolution->forward(*x, nullptr, *y);
    bound.convolution->backward_data(*dy, *dx);
    bound.convolution->backward_weights(*x, *dy, dw.floats(), false);

    const std::vector<double> x_values = x.values(), dy_values = dy.values(), w_values = w.values();
    std::vector<double> expected_y(y.count()), expected_dx(x.count()), expected_dw(w.count());
    for_each_product(spec, [&](size_t i, size_t k, size_t o) {
      expected_y[o] += x_values[i] * w_values[k];
      expected_dx[i] += dy_values[o] * w_values[k];
      expected_dw[k] += dy_values[o] * x_values[i];
    });
    EXPECT_LT(relative_error(y.values(), expected_y), tolerance) << enum_name(type);
    EXPECT_LT(relative_error(dx.values(), expected_dx), tolerance) << enum_name(type);
    EXPECT_LT(relative_error(dw.values(), expected_dw), tolerance) << enum_name(type);

    bound.convolution->backward_weights(*x, *dy, dw.floats(), true);
    for (double& value : expected_dw) value *= 2;
    EXPECT_LT(relative_error(dw.values(), expected_dw), tolerance)
        << "accumulating adds the same gradient once more";
  }
}

TEST_P(ConvolutionTest, InferenceFusesBiasAndActivation) {
  for (const DType type : compute_types()) {
    for (const Activation activation : enum_values<Activation>()) {
      ConvolutionSpec spec = spec_of(GetParam(), type);
      spec.training = false;
      spec.bias = true;
      spec.activation = activation;
      BoundConvolution bound(spec);
      OwnedTensor x(spec.input, type), y(spec.output, type);
      OwnedTensor w = master_weights(spec), bias = numbers(static_cast<size_t>(spec.output.c));
      x.randomize(1);
      bias.randomize(4);
      bound.convolution->prepare(w.floats());
      bound.convolution->forward(*x, bias.floats(), *y);
      const std::vector<double> x_values = x.values(), w_values = w.values();
      std::vector<double> expected(y.count());
      for (size_t i = 0; i < expected.size(); ++i) expected[i] = bias[i % bias.count()];
      for_each_product(spec, [&](size_t i, size_t k, size_t o) { expected[o] += x_values[i] * w_values[k]; });
      for (double& v : expected) {
        const double sigmoid = 1 / (1 + std::exp(-v));
        if (activation == Activation::relu) v = std::max(v, 0.0);
        if (activation == Activation::leaky) v = v > 0 ? v : 0.1 * v;
        if (activation == Activation::mish) v *= std::tanh(std::log1p(std::exp(v)));
        if (activation == Activation::swish) v *= sigmoid;
        if (activation == Activation::logistic) v = sigmoid;
        if (activation == Activation::hardswish) v *= std::clamp(v + 3, 0.0, 6.0) / 6;
      }
      EXPECT_LT(relative_error(y.values(), expected), type == DType::f32 ? 1e-5 : 1.5 * rounding(type))
          << static_cast<int>(activation) << ' ' << enum_name(type);
    }
  }
}

// Inference may take a batch in parts; their places in it must be right.
void expect_images_of_a_batch(const ConvolutionCase& batch) {
  for (const DType type : compute_types()) {
    ConvolutionSpec whole = spec_of(batch, type), single = whole;
    whole.training = single.training = false;
    single.input.n = single.output.n = 1;
    OwnedTensor x(whole.input, type), w = master_weights(whole), together(whole.output, type);
    x.randomize(1);
    BoundConvolution of_batch(whole), of_image(single);
    of_batch.convolution->prepare(w.floats());
    of_image.convolution->prepare(w.floats());
    of_batch.convolution->forward(*x, nullptr, *together);
    const size_t in = single.input.count(), out = single.output.count();
    OwnedTensor image(single.input, type), alone(single.output, type);
    for (size_t i = 0; i < static_cast<size_t>(batch.input.n); ++i) {
      for (size_t k = 0; k < in; ++k) image.set(k, x[i * in + k]);
      of_image.convolution->forward(*image, nullptr, *alone);
      for (size_t k = 0; k < out; ++k) {
        ASSERT_NEAR(alone[k], together[i * out + k],
                    (1e-5 + 2 * rounding(type)) * std::max(1.0, std::abs(alone[k])))
            << i << ' ' << k << ' ' << enum_name(type);
      }
    }
  }
}

TEST(Convolution, ABatchIsConvolvedAsItsImagesAre) {
  expect_images_of_a_batch({{6, 160, 160, 8}, 16, 3, 1, 1});
  expect_images_of_a_batch({{4, 256, 256, 16}, 32, 3, 1, 1});
}

// An image's channels beside which the device has others: these are zero, and neither weights nor gradients know of them.
TEST(Convolution, ChannelsWithoutWeightsChangeNothing) {
  for (const DType type : compute_types()) {
    const int all = device().padded_channels(3, type);
    if (all == 3) continue;
    const ConvolutionSpec image = spec_of({{2, 9, 8, 3}, 16, 3, 2, 1}, type);
    ConvolutionSpec spec = image;
    spec.input.c = all;
    spec.zero_inputs = all - 3;
    spec.input_gradient = false;
    ASSERT_EQ(spec.weight_count(), image.weight_count());
    BoundConvolution bound(spec);
    OwnedTensor pixels(image.input, type), x(spec.input, type), y(spec.output, type), dy(spec.output, type);
    OwnedTensor w = master_weights(spec), dw = numbers(spec.weight_count());
    pixels.randomize(1);
    dy.randomize(3);
    for (size_t i = 0; i < x.count(); ++i) {
      const size_t channel = i % static_cast<size_t>(all), pixel = i / static_cast<size_t>(all);
      x.set(i, channel < 3 ? pixels[pixel * 3 + channel] : 0);
    }
    EXPECT_FALSE(bound.convolution->rounds_weight_gradient()) << "only it knows where its own are";
    EXPECT_FALSE(bound.convolution->working_weights());
    bound.convolution->prepare(w.floats());
    bound.convolution->forward(*x, nullptr, *y);
    bound.convolution->backward_weights(*x, *dy, nullptr, false);
    bound.convolution->backward_weights(*x, *dy, dw.floats(), false);

    const std::vector<double> x_values = pixels.values(), dy_values = dy.values(), w_values = w.values();
    std::vector<double> expected_y(y.count()), expected_dw(w.count());
    for_each_product(image, [&](size_t i, size_t k, size_t o) {
      expected_y[o] += x_values[i] * w_values[k];
      expected_dw[k] += dy_values[o] * x_values[i];
    });
    const double tolerance = 1.5 * rounding(type);
    EXPECT_LT(relative_error(y.values(), expected_y), tolerance) << enum_name(type);
    EXPECT_LT(relative_error(dw.values(), expected_dw), tolerance) << enum_name(type);
    bound.convolution->backward_weights(*x, *dy, dw.floats(), true);
    for (double& value : expected_dw) value *= 2;
    EXPECT_LT(relative_error(dw.values(), expected_dw), tolerance) << enum_name(type);
  }
}

// The channels of predictions beside which the device has others: these stay zero, and neither weights nor gradients know
// of them.
TEST(Convolution, OutputsWithoutWeightsAreZeroAndChangeNothing) {
  for (const DType type : compute_types()) {
    for (const int kernel : {1, 3}) {
      const ConvolutionSpec own = spec_of({{2, 9, 8, 16}, 21, kernel, 1, kernel / 2}, type);
      ConvolutionSpec spec = own;
      spec.bias = true;
      spec.output.c = device().padded_channels(21, type);
      spec.zero_outputs = spec.output.c - 21;
      if (spec.zero_outputs == 0) continue;
      ASSERT_EQ(spec.weight_count(), own.weight_count());
      ASSERT_EQ(spec.flops(), own.flops());
      BoundConvolution bound(spec);
      OwnedTensor x(spec.input, type), dx(spec.input, type), y(spec.output, type), dy(spec.output, type);
      OwnedTensor w = master_weights(spec), dw = numbers(spec.weight_count()), bias = numbers(spec.output.c);
      x.randomize(1);
      dy.randomize(3);
      bias.randomize(4);
      const auto channels = static_cast<size_t>(spec.output.c);
      for (size_t i = 0; i < dy.count(); ++i) {
        if (i % channels >= 21) dy.set(i, 0);
        if (i < channels && i >= 21) bias.set(i, 0);
      }
      // As the layer has them: their own channels, so many apart.
      const Tensor own_y{(*y).data, own.output, type, spec.output.c};
      const Tensor own_dy{(*dy).data, own.output, type, spec.output.c};
      const Tensor working = bound.convolution->working_weights();
      ASSERT_EQ(working.count(), spec.weight_count());
      device().cast({w.floats(), working.shape, DType::f32}, working);
      bound.convolution->forward(*x, bias.floats(), own_y);
      bound.convolution->backward_data(own_dy, *dx);
      bound.convolution->backward_weights(*x, own_dy, dw.floats(), false);
      bound.convolution->backward_weights(*x, own_dy, dw.floats(), true);
      ASSERT_TRUE(bound.convolution->rounds_weight_gradient());
      OwnedTensor rounded_dw({1, 1, 1, static_cast<int>(spec.padded_weight_count())}, type);
      bound.convolution->rounded_backward_weights(*x, own_dy, (*rounded_dw).data);

      const std::vector<double> x_values = x.values(), dy_values = dy.values(), w_values = w.values();
      std::vector<double> expected_y(y.count()), expected_dx(x.count()), expected_dw(w.count());
      for (size_t i = 0; i < expected_y.size(); ++i) expected_y[i] = bias[i % channels];
      for_each_product(own, [&](size_t i, size_t k, size_t o) {
        const size_t at = o / 21 * channels + o % 21;
        expected_y[at] += x_values[i] * w_values[k];
        expected_dx[i] += dy_values[at] * w_values[k];
        expected_dw[k] += dy_values[at] * x_values[i];
      });
      const double tolerance = 1.5 * rounding(type);
      EXPECT_LT(relative_error(y.values(), expected_y), tolerance) << enum_name(type);
      EXPECT_LT(relative_error(dx.values(), expected_dx), tolerance) << enum_name(type);
      std::vector<double> rounded_values = rounded_dw.values();
      for (size_t i = w.count(); i < rounded_values.size(); ++i) EXPECT_EQ(rounded_values[i], 0) << i;
      for (size_t pixel = 0; pixel < spec.output.pixels(); ++pixel) {
        for (size_t c = 21; c < channels; ++c) ASSERT_EQ(y[pixel * channels + c], 0) << pixel;
      }
      rounded_values.resize(w.count());
      EXPECT_LT(relative_error(rounded_values, expected_dw), tolerance) << enum_name(type);
      for (double& value : expected_dw) value *= 2;
      EXPECT_LT(relative_error(dw.values(), expected_dw), tolerance) << enum_name(type);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, ConvolutionTest,
    ::testing::Values(ConvolutionCase{{2, 8, 8, 3}, 32, 3, 2, 1},     // the image
                      ConvolutionCase{{1, 13, 13, 64}, 32, 3, 1, 1},  // a body
                      ConvolutionCase{{3, 7, 5, 48}, 24, 1, 1, 0},
                      ConvolutionCase{{1, 13, 13, 32}, 255, 1, 1, 0},  // a head
                      ConvolutionCase{{2, 19, 19, 24}, 16, 3, 2, 1},
                      ConvolutionCase{{1, 1, 1, 17}, 5, 1, 1, 0}, ConvolutionCase{{1, 9, 9, 8}, 16, 5, 1, 2},
                      ConvolutionCase{{17, 5, 3, 8}, 16, 3, 1, 1},
                      ConvolutionCase{{2, 9, 14, 32}, 48, 3, 1, 1},       // Winograd's, in tiles of 2 × 2
                      ConvolutionCase{{8, 15, 13, 64}, 32, 3, 1, 1},      // and of 4 × 4
                      ConvolutionCase{{2, 9, 7, 24}, 24, 3, 1, 1, 24},    // depthwise
                      ConvolutionCase{{1, 12, 12, 33}, 33, 5, 2, 2, 33},  // of an odd number
                      ConvolutionCase{{2, 8, 8, 128}, 128, 3, 1, 1, 32},  // ResNeXt
                      ConvolutionCase{{1, 6, 6, 12}, 18, 3, 2, 1, 3},     // groups of 4 to 6
                      ConvolutionCase{{1, 4, 26, 64}, 64, 3, 1, 1, 8},    // of 8, in wide rows
                      ConvolutionCase{{1, 5, 5, 16}, 32, 1, 1, 0, 16}));  // two filters a channel

}  // namespace
}  // namespace brightnet::testing
