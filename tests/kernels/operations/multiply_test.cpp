#include "tests/kernels/reference.h"

namespace brightnet::testing {
namespace {

TEST(Multiply, IsTheProductRoundedOnce) {
  for (const DType type : compute_types()) {
    for (const bool accumulate : {false, true}) {
      for (const Shape& shape : odd_shapes()) {
        OwnedTensor a(shape, type, true), b(shape, type), y(shape, type);
        a.randomize(1);
        b.randomize(2);
        if (accumulate) y.randomize(3);
        std::vector<double> expected(a.count());
        for (size_t i = 0; i < expected.size(); ++i) expected[i] = a[i] * b[i] + (accumulate ? y[i] : 0.0);
        device().multiply(*a, *b, *y, accumulate);
        expect_near(y, expected, rounding(type), 1e-6);
      }
    }
  }
}

TEST(Multiply, WorksInPlace) {
  OwnedTensor a({2, 26, 26, 33}), b({2, 26, 26, 33});
  a.randomize(3);
  b.randomize(4);
  std::vector<double> expected(a.count());
  for (size_t i = 0; i < expected.size(); ++i) expected[i] = a[i] * b[i];
  device().multiply(*a, *b, *a, false);
  expect_near(a, expected, rounding(DType::f32), 1e-7);
}

TEST(Multiply, RefusesUnlikeTensors) {
  const OwnedTensor a({1, 2, 2, 8}), b({1, 2, 2, 9}), c({1, 2, 2, 8}, DType::bf16);
  EXPECT_THROW(device().multiply(*a, *b, *a, false), std::logic_error);
  EXPECT_THROW(device().multiply(*a, *c, *a, false), std::logic_error);
}

}  // namespace
}  // namespace brightnet::testing
