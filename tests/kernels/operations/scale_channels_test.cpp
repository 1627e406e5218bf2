// Products of channels and factors, and the sums that are their gradients, against the formulas in fp64.
#include "tests/kernels/reference.h"

namespace brightnet::testing {
namespace {

/// The row of factors or sums for an element of a tensor of this shape.
size_t row_place(const Shape& shape, int rows, size_t element) {
  const size_t image = element / (shape.count() / static_cast<size_t>(shape.n));
  return (rows == 1 ? 0 : image) * static_cast<size_t>(shape.c) + element % static_cast<size_t>(shape.c);
}

TEST(ScaleChannels, MultipliesEveryChannelByItsFactor) {
  for (const DType type : compute_types()) {
    for (const Shape& shape : odd_shapes()) {
      for (const int rows : {1, shape.n}) {
        for (const bool accumulate : {false, true}) {
          OwnedTensor x(shape, type), y(shape, type), factors({rows, 1, 1, shape.c});
          x.randomize(1);
          y.randomize(2);
          factors.randomize(3);
          std::vector<double> expected(x.count());
          for (size_t i = 0; i < expected.size(); ++i)
            expected[i] = x[i] * factors[row_place(shape, rows, i)] + (accumulate ? y[i] : 0.0);
          device().scale_channels(*x, *factors, *y, accumulate);
          expect_near(y, expected, rounding(type), 1e-6);
        }
      }
    }
  }
}

TEST(ScaleChannels, WorksInPlace) {
  OwnedTensor x({2, 9, 9, 24}), factors({2, 1, 1, 24});
  x.randomize(4);
  factors.randomize(5);
  std::vector<double> expected(x.count());
  for (size_t i = 0; i < expected.size(); ++i) expected[i] = x[i] * factors[row_place(x.shape(), 2, i)];
  device().scale_channels(*x, *factors, *x, false);
  expect_near(x, expected, rounding(DType::f32), 1e-7);
}

TEST(ChannelProducts, AreTheSumsOfProductsOverPixels) {
  for (const DType type : compute_types()) {
    for (const Shape& shape : odd_shapes()) {
      for (const int rows : {1, shape.n}) {
        OwnedTensor a(shape, type), b(shape, type), sums({rows, 1, 1, shape.c});
        a.randomize(1);
        b.randomize(2);
        sums.randomize(3);
        std::vector<double> expected(sums.count());
        for (size_t i = 0; i < a.count(); ++i) expected[row_place(shape, rows, i)] += a[i] * b[i];
        device().channel_products(*a, *b, *sums);
        expect_near(sums, expected, 1e-5, 2e-5);
      }
    }
  }
}

}  // namespace
}  // namespace brightnet::testing
