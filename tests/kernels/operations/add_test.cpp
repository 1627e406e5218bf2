#include "tests/kernels/reference.h"

namespace brightnet::testing {
namespace {

std::vector<double> sum(const OwnedTensor& a, const OwnedTensor& b) {
  std::vector<double> result(a.count());
  for (size_t i = 0; i < result.size(); ++i) result[i] = a[i] + b[i];
  return result;
}

TEST(Add, IsTheSumRoundedOnce) {
  for (const DType type : compute_types()) {
    for (const Shape& shape : odd_shapes()) {
      OwnedTensor a(shape, type, true), b(shape, type), y(shape, type);
      a.randomize(1);
      b.randomize(2);
      device().add(*a, *b, *y);
      expect_near(y, sum(a, b), rounding(type), 1e-7);
    }
  }
}

TEST(Add, WorksInPlace) {
  OwnedTensor a({2, 26, 26, 33}), b({2, 26, 26, 33});
  a.randomize(3);
  b.randomize(4);
  const std::vector<double> expected = sum(a, b);
  device().add(*a, *b, *a);
  expect_near(a, expected, rounding(DType::f32), 1e-7);
}

TEST(Add, RefusesUnlikeTensors) {
  const OwnedTensor a({1, 2, 2, 8}), b({1, 2, 2, 9}), c({1, 2, 2, 8}, DType::bf16);
  EXPECT_THROW(device().add(*a, *b, *a), std::logic_error);
  EXPECT_THROW(device().add(*a, *c, *a), std::logic_error);
}

}  // namespace
}  // namespace brightnet::testing
