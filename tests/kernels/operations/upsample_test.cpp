#include "tests/kernels/reference.h"

namespace brightnet::testing {
namespace {

Shape enlarged(const Shape& s, int factor) {
  return {s.n, s.h * factor, s.w * factor, s.c};
}

TEST(Upsample, RepeatsEveryPixel) {
  for (const DType type : compute_types()) {
    for (const int factor : {1, 2, 3}) {
      for (const Shape& small : odd_shapes()) {
        const Shape large = enlarged(small, factor);
        OwnedTensor x(small, type), y(large, type);
        x.randomize(1);
        device().upsample_forward(factor, *x, *y);
        std::vector<double> expected(large.count());
        for (int n = 0; n < large.n; ++n) {
          for (int h = 0; h < large.h; ++h) {
            for (int w = 0; w < large.w; ++w) {
              for (int c = 0; c < large.c; ++c) {
                expected[index(large, n, h, w, c)] = x[index(small, n, h / factor, w / factor, c)];
              }
            }
          }
        }
        ASSERT_EQ(y.values(), expected);
      }
    }
  }
}

TEST(Upsample, BackwardSumsWhatCameFromOnePixel) {
  for (const DType type : compute_types()) {
    for (const bool accumulate : {false, true}) {
      for (const int factor : {1, 2, 3}) {
        for (const Shape& small : odd_shapes()) {
          const Shape large = enlarged(small, factor);
          OwnedTensor dy(large, type), dx(small, type);
          dy.randomize(2);
          if (accumulate) dx.randomize(3);
          std::vector<double> expected = accumulate ? dx.values() : std::vector<double>(small.count());
          for (int n = 0; n < large.n; ++n) {
            for (int h = 0; h < large.h; ++h) {
              for (int w = 0; w < large.w; ++w) {
                for (int c = 0; c < large.c; ++c) {
                  expected[index(small, n, h / factor, w / factor, c)] += dy[index(large, n, h, w, c)];
                }
              }
            }
          }
          device().upsample_backward(factor, *dy, *dx, accumulate);
          // One rounding to the type, after fp32 sums of up to ten numbers of order one.
          expect_near(dx, expected, rounding(type), 5e-6);
        }
      }
    }
  }
}

TEST(Upsample, RefusesAnotherOutputShape) {
  const OwnedTensor x({1, 2, 2, 8}), y({1, 4, 5, 8});
  EXPECT_THROW(device().upsample_forward(2, *x, *y), std::logic_error);
  EXPECT_THROW(device().upsample_backward(2, *y, *x, false), std::logic_error);
}

}  // namespace
}  // namespace brightnet::testing
