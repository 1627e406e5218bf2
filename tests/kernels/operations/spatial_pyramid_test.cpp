// A spatial pyramid against the single pools and copies that it stands for, which have tests of their own.
#include "tests/kernels/reference.h"

namespace brightnet::testing {
namespace {

struct Pyramid {
  std::vector<int> windows;
  Shape x;
};

const Pyramid pyramids[] = {
    {{13, 9, 5}, {1, 13, 13, 24}},           // YOLO's
    {{13, 9, 5}, {17, 3, 2, 3}},             // an image smaller than every window
    {{13, 9, 5}, {1, 19, 19, 40}},           //
    {{5, 9, 13}, {1, 41, 23, 5}},            // several tiles
    {{2, 15, 4}, {1, 9, 30, 17}},            // even windows reach further to one side
    {{3}, {2, 5, 7, 33}},                    //
    {{13, 11, 9, 7, 5, 3}, {1, 10, 9, 16}},  // more than one pass takes
};

TEST(SpatialPyramid, IsItsPoolsSideBySide) {
  for (const DType type : compute_types()) {
    for (const Pyramid& pyramid : pyramids) {
      const Shape& shape = pyramid.x;
      const int parts = 1 + static_cast<int>(pyramid.windows.size());
      Shape whole = shape;
      whole.c *= parts;
      OwnedTensor x(shape, type), y(whole, type), workspace({1, 1, 1, static_cast<int>(shape.count()) + 1});
      x.randomize(1);
      std::vector<OwnedTensor> argmax;
      std::vector<Tensor> argmax_tensors;
      for (size_t i = 0; i < pyramid.windows.size(); ++i) argmax.emplace_back(shape, DType::u8);
      for (const OwnedTensor& winners : argmax) argmax_tensors.push_back(*winners);
      device().spatial_pyramid_forward(pyramid.windows, *x, *y, argmax_tensors, (*workspace).data);

      OwnedTensor dy(whole, type), dx(shape, type), expected_dx(shape, DType::f32);
      dy.randomize(2);
      dx.randomize(3);
      expected_dx.set(dx.values());
      for (int part = 0; part < parts; ++part) {
        OwnedTensor pooled(shape, type), winners(shape, DType::u8), gradient(shape, DType::f32);
        for (size_t i = 0; i < gradient.count(); ++i)
          gradient.set(i, dy[i / shape.c * whole.c + part * shape.c + i % shape.c]);
        if (part + 1 == parts) {
          pooled.set(x.values());
          device().add(*expected_dx, *gradient, *expected_dx);
        } else {
          const PoolSpec pool{pyramid.windows[part], 1, pyramid.windows[part] - 1};
          device().max_pool_forward(pool, *x, *pooled, *winners);
          ASSERT_EQ(argmax[part].values(), winners.values());
          device().max_pool_backward(pool, *gradient, *winners, *expected_dx, true);
        }
        for (size_t i = 0; i < pooled.count(); ++i)
          ASSERT_EQ(y[i / shape.c * whole.c + part * shape.c + i % shape.c], pooled[i]);
      }
      OwnedTensor fresh(shape, type);
      const std::vector<double> start = dx.values();
      device().spatial_pyramid_backward(pyramid.windows, *dy, argmax_tensors, *dx, true, (*workspace).data);
      device().spatial_pyramid_backward(pyramid.windows, *dy, argmax_tensors, *fresh, false,
                                        (*workspace).data);
      // A device may round to the type after every pool, as the CPU does.
      double largest = 1;
      for (const double value : expected_dx.values()) largest = std::max(largest, std::abs(value));
      const double tolerance = parts * rounding(type) * largest + 1e-5;
      expect_near(dx, expected_dx.values(), 0, tolerance);
      std::vector<double> without_start = expected_dx.values();
      for (size_t i = 0; i < start.size(); ++i) without_start[i] -= start[i];
      expect_near(fresh, without_start, 0, tolerance);
    }
  }
}

}  // namespace
}  // namespace brightnet::testing
