// Batch-norm with its activation against an fp64 reference, and its gradient against differences of that.
#include "core/enum_names.h"
#include "tests/kernels/batch_norm_layer.h"

namespace brightnet::testing {
namespace {

class BatchNormTest : public ::testing::TestWithParam<std::tuple<Shape, Activation>> {};

TEST_P(BatchNormTest, ForwardAgreesWithFp64) {
  for (const DType type : compute_types()) {
    BatchNormLayer layer(std::get<0>(GetParam()), std::get<1>(GetParam()), type);
    OwnedTensor z(layer.shape, type);
    layer.forward(*z);
    const BatchNormReference r = layer.reference();
    EXPECT_LT(relative_error(z, r.z), 3 * tested_device().formula_error + rounding(type)) << enum_name(type);
    const double n = static_cast<double>(layer.shape.pixels());
    for (int c = 0; c < layer.shape.c; ++c) {
      EXPECT_NEAR(layer.mean[c], r.mean[c], 1e-5);
      EXPECT_NEAR(layer.running_mean[c], 0.75 + 0.25 * r.mean[c], 1e-5);
      EXPECT_NEAR(layer.running_variance[c], 1.5 + 0.25 * r.variance[c] * n / (n - 1),
                  1e-4 * r.variance[c] + 1e-5);
    }
  }
}

TEST_P(BatchNormTest, AShortcutsOtherInputIsAddedAfterTheActivation) {
  for (const DType type : compute_types()) {
    for (const bool misaligned : {false, true}) {
      BatchNormLayer layer(std::get<0>(GetParam()), std::get<1>(GetParam()), type);
      OwnedTensor z(layer.shape, type), addend(layer.shape, type, misaligned);
      addend.randomize(5, 2);
      layer.addend = *addend;
      layer.forward(*z);
      std::vector<double> sum = layer.reference().z;
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += addend[i];
      EXPECT_LT(relative_error(z, sum), 3 * tested_device().formula_error + rounding(type))
          << enum_name(type);
    }
  }
}

TEST_P(BatchNormTest, BackwardIsTheDerivative) {
  for (const DType type : compute_types()) {
    BatchNormLayer layer(std::get<0>(GetParam()), std::get<1>(GetParam()), type);
    OwnedTensor z(layer.shape, type), gradient(layer.shape, type);
    gradient.randomize(4);
    const std::vector<double> dz = gradient.values();
    layer.forward(*z);
    layer.backward(*gradient, *gradient);
    const std::vector<double> dy = gradient.values();

    // Central differences of Σ dz·z in fp64, with steps so small that hardly an element crosses a kink.
    const auto objective = [&](const std::vector<double>& y, const std::vector<double>& scale,
                               const std::vector<double>& shift) {
      const BatchNormReference r = forward_in_fp64(y, scale, shift, layer.activation, layer.epsilon);
      double sum = 0;
      for (size_t i = 0; i < dz.size(); ++i) sum += dz[i] * r.z[i];
      return sum;
    };
    const std::vector<double> y = layer.y.values(), scale = layer.scale.values(),
                              shift = layer.shift.values();
    const double h = 1e-6, relative = type == DType::f32 ? 2e-4 : type == DType::f16 ? 2e-3 : 1e-2;
    for (uint64_t trial = 0; trial < 3; ++trial) {
      Random random(10 + trial, Purpose::test);
      std::vector<double> plus = y, minus = y;
      double along = 0, size = 0;
      for (size_t i = 0; i < y.size(); ++i) {
        const double direction = random.normal();
        plus[i] += h * direction;
        minus[i] -= h * direction;
        along += dy[i] * direction;
        size += dy[i] * dy[i];
      }
      const double expected = (objective(plus, scale, shift) - objective(minus, scale, shift)) / (2 * h);
      EXPECT_NEAR(along, expected, relative * std::sqrt(size) + 1e-5) << enum_name(type);
    }
    const double size = relative * std::sqrt(static_cast<double>(layer.shape.pixels()));
    for (int c = 0; c < std::min(layer.shape.c, 4); ++c) {
      auto plus = scale, minus = scale;
      plus[c] += h;
      minus[c] -= h;
      EXPECT_NEAR(layer.dscale[c], (objective(y, plus, shift) - objective(y, minus, shift)) / (2 * h), size);
      plus = minus = shift;
      plus[c] += h;
      minus[c] -= h;
      EXPECT_NEAR(layer.dshift[c], (objective(y, scale, plus) - objective(y, scale, minus)) / (2 * h), size);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, BatchNormTest,
                         ::testing::Combine(::testing::Values(Shape{2, 13, 13, 64}, Shape{3, 19, 19, 3},
                                                              Shape{1, 5, 7, 255}, Shape{17, 1, 1, 24},
                                                              Shape{1, 26, 26, 32}, Shape{1, 3, 3, 320}),
                                            ::testing::ValuesIn(enum_values<Activation>())));

TEST(BatchNorm, StatisticsSurviveAMeanFarFromZero) {
  for (const DType type : compute_types()) {
    // A spread of ten units in the last place at the mean.
    const float offset = 1000, spread = static_cast<float>(20 * rounding(type) * offset);
    BatchNormLayer layer({4, 32, 32, 16}, Activation::linear, type, spread, offset);
    layer.epsilon = 0;
    OwnedTensor z(layer.shape, type);
    layer.forward(*z);
    const BatchNormReference r = layer.reference();
    for (int c = 0; c < 16; ++c) EXPECT_NEAR(layer.inverse_std[c] * std::sqrt(r.variance[c]), 1.0, 1e-4);
  }
}

// As behind a global pool in a batch of one: nothing varies, nothing flows back, and no statistic becomes infinite.
TEST(BatchNorm, OfASinglePixelIsItsShift) {
  for (const DType type : compute_types()) {
    BatchNormLayer layer({1, 1, 1, 24}, Activation::linear, type);
    OwnedTensor z(layer.shape, type), dz(layer.shape, type), dy(layer.shape, type);
    dz.randomize(4);
    layer.forward(*z);
    layer.backward(*dz, *dy);
    for (int c = 0; c < 24; ++c) {
      EXPECT_NEAR(z[c], layer.shift[c], 2e-3 + rounding(type) * std::abs(layer.shift[c]));
      EXPECT_NEAR(layer.running_mean[c], 0.75 + 0.25 * layer.y[c], 1e-5);
      EXPECT_NEAR(layer.running_variance[c], 1.5, 1e-4);
      EXPECT_NEAR(dy[c], 0, 2e-3);
      EXPECT_NEAR(layer.dshift[c], dz[c], 1e-5);
      EXPECT_NEAR(layer.dscale[c], 0, 2e-3);
    }
  }
}

// The usual epsilon is too small beside a variance to tell where it is added.
TEST(BatchNorm, EpsilonIsAddedUnderTheRoot) {
  for (const DType type : compute_types()) {
    BatchNormLayer layer({2, 6, 5, 24}, Activation::linear, type);
    layer.epsilon = 2;
    OwnedTensor z(layer.shape, type);
    layer.forward(*z);
    const BatchNormReference r = layer.reference();
    for (int c = 0; c < 24; ++c) EXPECT_NEAR(layer.inverse_std[c], 1 / std::sqrt(r.variance[c] + 2), 1e-5);
    EXPECT_LT(relative_error(z, r.z), 3 * tested_device().formula_error + rounding(type)) << enum_name(type);
  }
}

TEST(BatchNorm, TakesSumsThatTheConvolutionHasMade) {
  for (const DType type : compute_types()) {
    BatchNormLayer layer({3, 7, 5, 40}, Activation::mish, type, 2, 0.5f);
    OwnedTensor z(layer.shape, type), sums({1, 1, 2, 40});
    std::vector<double> expected_sums(80);
    for (size_t i = 0; i < layer.y.count(); ++i) {
      expected_sums[i % 40] += layer.y[i];
      expected_sums[40 + i % 40] += layer.y[i] * layer.y[i];
    }
    const auto set_sums = [&] {
      for (size_t i = 0; i < expected_sums.size(); ++i) sums.set(i, expected_sums[i]);
    };
    set_sums();
    const BatchNormReference r = layer.reference();
    layer.forward(*z, sums.floats());
    EXPECT_LT(relative_error(z, r.z), 5 * tested_device().formula_error + rounding(type)) << enum_name(type);
    for (int c = 0; c < 40; ++c) {
      EXPECT_NEAR(layer.mean[c], r.mean[c], 1e-5);
      EXPECT_NEAR(layer.running_variance[c], 1.5 + 0.25 * r.variance[c] * 105 / 104,
                  1e-5 * r.variance[c] + 1e-5);
    }
    // They are believed: twice the sums are another mean.
    for (double& sum : expected_sums) sum *= 2;
    set_sums();
    layer.forward(*z, sums.floats());
    for (int c = 0; c < 40; ++c) EXPECT_NEAR(layer.mean[c], 2 * r.mean[c], 1e-5);
  }
}

TEST(BatchNorm, MakesItsOutputASecondTimeAndMovesNothing) {
  for (const DType type : compute_types()) {
    BatchNormLayer layer({3, 7, 5, 40}, Activation::mish, type, 2, 0.5f);
    OwnedTensor z(layer.shape, type), again(layer.shape, type);
    layer.forward(*z);
    const std::vector<double> running_mean = layer.running_mean.values(),
                              running_variance = layer.running_variance.values();
    layer.forward(*again, nullptr, true);
    EXPECT_EQ(again.values(), z.values()) << enum_name(type);
    EXPECT_EQ(layer.running_mean.values(), running_mean);
    EXPECT_EQ(layer.running_variance.values(), running_variance);
  }
}

TEST(BatchNorm, ReadsAndWritesSlices) {
  for (const DType type : compute_types()) {
    for (const int first : {0, 3, 16}) {
      BatchNormLayer layer({2, 9, 11, 32}, Activation::mish, type);
      OwnedTensor z(layer.shape, type), wide({2, 9, 11, 64}, type), dz(layer.shape, type),
          wide_dz({2, 9, 11, 64}, type), dy(layer.shape, type), dy_of_slice(layer.shape, type);
      wide.fill(3);
      layer.forward(*z);
      layer.forward(slice_channels(*wide, first, 32));
      dz.randomize(8);
      for (size_t i = 0; i < wide.count(); ++i) {
        const size_t pixel = i / 64, channel = i % 64 - static_cast<size_t>(first);
        const bool inside = channel < 32;
        const double expected = inside ? z[pixel * 32 + channel] : 3.0;
        ASSERT_NEAR(wide[i], expected, inside ? 2 * rounding(type) * std::abs(expected) + 1e-5 : 0.0);
        if (inside) wide_dz.set(i, dz[pixel * 32 + channel]);
      }
      layer.backward(*dz, *dy);
      layer.backward(slice_channels(*wide_dz, first, 32), *dy_of_slice);
      // A slice may be summed in another order: by elements instead of vectors.
      expect_near(dy_of_slice, dy.values(), 2 * rounding(type), 1e-5);
    }
  }
}

// As of one of two convolutions that are computed as one: y and its gradient are slices, and so are its sums.
TEST(BatchNorm, ReadsASliceOfYAndWritesItsGradientThere) {
  for (const DType type : compute_types()) {
    for (const int first : {0, 3, 16}) {
      BatchNormLayer layer({2, 9, 11, 32}, Activation::mish, type);
      OwnedTensor z(layer.shape, type), dz(layer.shape, type), dy(layer.shape, type),
          z_of_slice(layer.shape, type), wide({2, 9, 11, 64}, type), sums({1, 1, 2, 64});
      dz.randomize(8);
      layer.forward(*z);
      layer.backward(*dz, *dy);
      const std::vector<double> dscale = layer.dscale.values();
      wide.fill(3);
      for (size_t i = 0; i < layer.y.count(); ++i)
        wide.set(i / 32 * 64 + i % 32 + static_cast<size_t>(first), layer.y[i]);
      std::vector<double> of_y(128);
      for (size_t i = 0; i < wide.count(); ++i) {
        of_y[i % 64] += wide[i];
        of_y[64 + i % 64] += wide[i] * wide[i];
      }
      for (size_t i = 0; i < of_y.size(); ++i) sums.set(i, of_y[i]);
      const Tensor slice = slice_channels(*wide, first, 32);
      for (const bool has_sums : {false, true}) {
        layer.forward_of(slice, *z_of_slice, has_sums ? sums.floats() + first : nullptr, 64);
        expect_near(z_of_slice, z.values(), 2 * rounding(type), 1e-5);
      }
      layer.backward_of(slice, *dz, slice);
      for (size_t i = 0; i < wide.count(); ++i) {
        const size_t channel = i % 64 - static_cast<size_t>(first);
        const double expected = channel < 32 ? dy[i / 64 * 32 + channel] : 3.0;
        ASSERT_NEAR(wide[i], expected, channel < 32 ? 2 * rounding(type) * std::abs(expected) + 1e-5 : 0.0);
      }
      expect_near(layer.dscale, dscale, 1e-5, 1e-5);
    }
  }
}

TEST(BatchNorm, FrozenStatisticsAreConstants) {
  BatchNormLayer layer({2, 6, 5, 24}, Activation::swish, DType::f32);
  OwnedTensor z(layer.shape), dz(layer.shape), dy(layer.shape);
  layer.forward(*z);
  dz.randomize(9);
  layer.backward(*dz, *dy, false, true);
  std::vector<double> expected(dy.count());
  for (size_t i = 0; i < expected.size(); ++i) {
    const size_t c = i % 24;
    const double a = layer.scale[c] * layer.inverse_std[c],
                 v = a * (layer.y[i] - layer.mean[c]) + layer.shift[c];
    const double sigmoid = 1 / (1 + std::exp(-v));
    expected[i] = dz[i] * (sigmoid + v * sigmoid * (1 - sigmoid)) * a;
  }
  expect_near(dy, expected, 2e-5, 2e-6);
}

TEST(BatchNorm, ParameterGradientsAddUp) {
  BatchNormLayer layer({2, 6, 5, 24}, Activation::leaky, DType::f32);
  OwnedTensor z(layer.shape), dz(layer.shape), dy(layer.shape);
  layer.forward(*z);
  dz.randomize(9);
  layer.backward(*dz, *dy);
  const std::vector<double> dscale = layer.dscale.values(), dshift = layer.dshift.values();
  layer.backward(*dz, *dy, true);
  for (int c = 0; c < 24; ++c) {
    EXPECT_NEAR(layer.dscale[c], 2 * dscale[c], 1e-6 * std::abs(dscale[c]));
    EXPECT_NEAR(layer.dshift[c], 2 * dshift[c], 1e-6 * std::abs(dshift[c]));
  }
}

TEST(BatchNorm, FoldedConvolutionDoesTheSame) {
  constexpr int filters = 8, inputs = 5;
  OwnedTensor w({1, 1, filters, inputs}), scale = channel_vector(filters), shift = channel_vector(filters),
                                          mean = channel_vector(filters), variance = channel_vector(filters),
                                          folded({1, 1, filters, inputs}), bias = channel_vector(filters);
  w.randomize(1);
  scale.randomize(2);
  shift.randomize(3);
  mean.randomize(4);
  variance.randomize(5);
  for (int o = 0; o < filters; ++o) variance.set(o, variance[o] * variance[o] + 0.1);
  device().fold_batch_norm({w.floats(), scale.floats(), shift.floats(), mean.floats(), variance.floats(),
                            1e-3f, filters, inputs, folded.floats(), bias.floats()});
  OwnedTensor x = channel_vector(inputs);
  x.randomize(6);
  for (int o = 0; o < filters; ++o) {
    double plain = 0, fused = bias[o];
    for (int i = 0; i < inputs; ++i) {
      plain += w[o * inputs + i] * x[i];
      fused += folded[o * inputs + i] * x[i];
    }
    EXPECT_NEAR(fused, scale[o] * (plain - mean[o]) / std::sqrt(variance[o] + 1e-3) + shift[o], 1e-4);
  }
}

TEST(BiasGradient, IsTheSumOverPixels) {
  for (const DType type : compute_types()) {
    for (const Shape& shape : odd_shapes()) {
      OwnedTensor dy(shape, type), db = channel_vector(shape.c), workspace = workspace_for(shape);
      dy.randomize(7);
      db.randomize(8);
      const std::vector<double> before = db.values();
      std::vector<double> sum(shape.c);
      for (size_t i = 0; i < dy.count(); ++i) sum[i % shape.c] += dy[i];
      for (const bool accumulate : {true, false}) {
        std::vector<double> expected = sum;
        for (int c = 0; c < shape.c; ++c) expected[c] += accumulate ? before[c] : 0.0;
        device().bias_gradient(*dy, db.floats(), accumulate, (*workspace).data, nullptr);
        expect_near(db, expected, 1e-5, 1e-5);
      }
    }
  }
}

// Of whole numbers fp32 sums are exact, so that a part too many or too few shows. A GPU adds the parts of many
// pixels in two stages, again and again with the same counters.
TEST(BiasGradient, OfManyPixelsIsExactForWholeNumbers) {
  for (const DType type : compute_types()) {
    for (const Shape& shape : {Shape{1, 300, 250, 3}, Shape{2, 60, 20, 33}, Shape{1, 160, 120, 32}}) {
      OwnedTensor dy(shape, type), db = channel_vector(shape.c), workspace = workspace_for(shape);
      std::vector<double> sum(shape.c);
      for (size_t i = 0; i < dy.count(); ++i) {
        dy.set(i, static_cast<double>(i * 7919 % 11) - 4);
        sum[i % shape.c] += dy[i];
      }
      for (int times = 1; times <= 3; ++times) {
        device().bias_gradient(*dy, db.floats(), times > 1, (*workspace).data, nullptr);
        for (int c = 0; c < shape.c; ++c) ASSERT_EQ(db[c], times * sum[c]) << to_string(shape) << ' ' << c;
      }
    }
  }
}

}  // namespace
}  // namespace brightnet::testing
