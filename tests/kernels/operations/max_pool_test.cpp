#include <string>

#include "core/threads.h"
#include "tests/kernels/reference.h"

namespace brightnet::testing {
namespace {

struct MaxPoolCase {
  PoolSpec pool;
  Shape x;
};

/// darknet's: the default padding is window − 1.
Shape output_shape(const MaxPoolCase& test) {
  const auto size = [&](int input) {
    return (input + test.pool.padding - test.pool.window) / test.pool.stride + 1;
  };
  return {test.x.n, size(test.x.h), size(test.x.w), test.x.c};
}

const MaxPoolCase max_pool_cases[] = {
    {{2, 2, 1}, {3, 13, 19, 24}},    // the hot case on odd sizes: windows cut at the end
    {{2, 2, 1}, {1, 26, 26, 64}},    // and on even ones
    {{2, 2, 1}, {17, 5, 3, 24}},     //
    {{2, 2, 0}, {1, 13, 7, 255}},    // a last row and column that no window contains
    {{2, 2, 1}, {1, 1, 1, 3}},       //
    {{2, 1, 1}, {1, 13, 13, 24}},    // darknet's last pool of yolov3-tiny
    {{2, 2, 2}, {1, 13, 13, 24}},    // a window that begins outside
    {{3, 2, 2}, {3, 19, 13, 24}},    //
    {{3, 3, 0}, {1, 20, 19, 70}},    //
    {{2, 3, 0}, {1, 20, 19, 70}},    // gaps between windows
    {{3, 1, 2}, {1, 13, 13, 64}},    //
    {{5, 1, 4}, {3, 13, 13, 24}},    // SPP's three
    {{9, 1, 8}, {1, 13, 19, 64}},    //
    {{9, 1, 8}, {17, 5, 3, 24}},     //
    {{13, 1, 12}, {3, 13, 13, 24}},  //
    {{13, 1, 12}, {1, 19, 19, 40}},  //
    {{13, 1, 12}, {1, 45, 23, 3}},   // several tiles
    {{13, 1, 12}, {1, 1, 1, 3}},     // an image smaller than the window
    {{4, 1, 3}, {1, 33, 34, 17}},    // uneven padding
    {{5, 1, 0}, {1, 13, 13, 24}},    // no padding
    {{15, 1, 14}, {1, 20, 20, 16}},  // the largest window
    {{13, 3, 12}, {1, 40, 40, 20}},  // a large window with a stride
};

std::string name(const MaxPoolCase& test) {
  return "window " + std::to_string(test.pool.window) + " stride " + std::to_string(test.pool.stride) +
         " padding " + std::to_string(test.pool.padding) + " of " + to_string(test.x);
}

/// Maximum and winner of each window, straight from the definition.
struct Reference {
  std::vector<double> y, argmax;
};
Reference pool_by_definition(const MaxPoolCase& test, const OwnedTensor& x) {
  const Shape shape = output_shape(test);
  const int before = test.pool.padding / 2;
  Reference result{std::vector<double>(shape.count()), std::vector<double>(shape.count())};
  const std::vector<double> values = x.values();
  for (size_t i = 0; i < shape.count(); ++i) {
    const int c = static_cast<int>(i % shape.c), column = static_cast<int>(i / shape.c % shape.w),
              row = static_cast<int>(i / shape.c / shape.w % shape.h),
              image = static_cast<int>(i / shape.c / shape.w / shape.h);
    bool found = false;
    for (int place = 0; place < test.pool.window * test.pool.window; ++place) {
      const int h = row * test.pool.stride - before + place / test.pool.window,
                w = column * test.pool.stride - before + place % test.pool.window;
      if (h < 0 || h >= test.x.h || w < 0 || w >= test.x.w) continue;
      const double value = values[index(test.x, image, h, w, c)];
      if (found && !(value > result.y[i]) && !std::isnan(value)) continue;
      found = true;
      result.y[i] = value;
      result.argmax[i] = place;
    }
  }
  return result;
}

void expect_same_as_definition(const MaxPoolCase& test, const OwnedTensor& x, DType type) {
  SCOPED_TRACE(name(test));
  const Reference expected = pool_by_definition(test, x);
  OwnedTensor y(output_shape(test), type), argmax(output_shape(test), DType::u8);
  device().max_pool_forward(test.pool, *x, *y, *argmax);
  expect_near(y, expected.y, 0, 0);
  ASSERT_EQ(argmax.values(), expected.argmax);
  OwnedTensor inferred(output_shape(test), type);
  device().max_pool_forward(test.pool, *x, *inferred, Tensor{});
  expect_near(inferred, expected.y, 0, 0);
}

TEST(MaxPool, FindsMaximumAndWinnerOfEveryWindow) {
  for (const DType type : compute_types()) {
    for (const MaxPoolCase& test : max_pool_cases) {
      OwnedTensor x(test.x, type);
      expect_same_as_definition(test, x.randomize(1), type);
    }
  }
}

TEST(MaxPool, FirstOfEqualElementsWins) {
  for (const DType type : compute_types()) {
    for (const MaxPoolCase& test : max_pool_cases) {
      OwnedTensor x(test.x, type);
      Random random(3, Purpose::test);
      // Three levels make ties in almost every window; −∞ equals what a careless implementation pads with.
      for (size_t i = 0; i < x.count(); ++i) {
        const uint32_t level = random.below(3);
        x.set(i, level == 0 ? -std::numeric_limits<double>::infinity() : level == 1 ? -0.0 : 0.0);
      }
      expect_same_as_definition(test, x, type);
      x.fill(-std::numeric_limits<double>::infinity());
      expect_same_as_definition(test, x, type);
    }
  }
}

TEST(MaxPool, NanReachesTheOutput) {
  for (const DType type : compute_types()) {
    for (const MaxPoolCase& test : max_pool_cases) {
      OwnedTensor x(test.x, type);
      x.randomize(2);
      Random random(4, Purpose::test);
      for (size_t i = 0; i < x.count(); ++i) {
        if (random.chance(0.02f)) x.set(i, std::numeric_limits<double>::quiet_NaN());
      }
      expect_same_as_definition(test, x, type);
    }
  }
}

TEST(MaxPool, BackwardAddsEveryGradientToItsWinner) {
  for (const DType type : compute_types()) {
    for (const bool accumulate : {false, true}) {
      for (const MaxPoolCase& test : max_pool_cases) {
        SCOPED_TRACE(name(test));
        const Shape shape = output_shape(test);
        OwnedTensor x(test.x, type), y(shape, type), dy(shape, type), argmax(shape, DType::u8),
            dx(test.x, type);
        x.randomize(5);
        dy.randomize(6);
        if (accumulate) dx.randomize(7);
        device().max_pool_forward(test.pool, *x, *y, *argmax);
        const Reference winners = pool_by_definition(test, x);
        std::vector<double> expected = accumulate ? dx.values() : std::vector<double>(dx.count());
        double largest = 1;
        for (size_t i = 0; i < shape.count(); ++i) {
          const int c = static_cast<int>(i % shape.c), column = static_cast<int>(i / shape.c % shape.w),
                    row = static_cast<int>(i / shape.c / shape.w % shape.h),
                    image = static_cast<int>(i / shape.c / shape.w / shape.h),
                    place = static_cast<int>(winners.argmax[i]), before = test.pool.padding / 2;
          double& sum =
              expected[index(test.x, image, row * test.pool.stride - before + place / test.pool.window,
                             column * test.pool.stride - before + place % test.pool.window, c)];
          sum += dy[i];
          largest = std::max(largest, std::abs(sum));
        }
        device().max_pool_backward(test.pool, *dy, *argmax, *dx, accumulate);
        // fp32 sums of up to window² gradients, rounded once to the type.
        expect_near(dx, expected, rounding(type), 3e-6 * largest);
      }
    }
  }
}

TEST(MaxPool, BackwardIsTheDerivative) {
  // Directional: for y = pool(x), Σ dy·(pool(x + εv) − pool(x − εv)) / 2ε = Σ dx·v when no winner changes,
  // which values that are all at least 1 apart ensure.
  for (const MaxPoolCase& test : {max_pool_cases[0], max_pool_cases[6], max_pool_cases[10]}) {
    SCOPED_TRACE(name(test));
    const Shape shape = output_shape(test);
    OwnedTensor x(test.x), v(test.x), dx(test.x), dy(shape), y(shape), ahead(shape), behind(shape),
        argmax(shape, DType::u8);
    Random random(8, Purpose::test);
    for (size_t i = 0; i < x.count(); ++i) x.set(i, static_cast<double>((i * 7919) % 16381));
    // Quarters, so that x ± step·v is exact.
    for (size_t i = 0; i < v.count(); ++i) v.set(i, static_cast<double>(random.below(9)) / 4 - 1);
    dy.randomize(10);
    device().max_pool_forward(test.pool, *x, *y, *argmax);
    device().max_pool_backward(test.pool, *dy, *argmax, *dx, false);
    constexpr double step = 0.25;
    OwnedTensor moved(test.x);
    for (size_t i = 0; i < x.count(); ++i) moved.set(i, x[i] + step * v[i]);
    device().max_pool_forward(test.pool, *moved, *ahead, Tensor{});
    for (size_t i = 0; i < x.count(); ++i) moved.set(i, x[i] - step * v[i]);
    device().max_pool_forward(test.pool, *moved, *behind, Tensor{});
    double difference = 0, derivative = 0;
    for (size_t i = 0; i < shape.count(); ++i) difference += dy[i] * (ahead[i] - behind[i]) / (2 * step);
    for (size_t i = 0; i < x.count(); ++i) derivative += dx[i] * v[i];
    EXPECT_NEAR(difference, derivative, 1e-3);
  }
}

TEST(MaxPool, ResultsDoNotDependOnTheNumberOfThreads) {
  const int threads = omp_get_max_threads();
  for (const MaxPoolCase& test : max_pool_cases) {
    SCOPED_TRACE(name(test));
    const Shape shape = output_shape(test);
    OwnedTensor x(test.x), y(shape), dy(shape), argmax(shape, DType::u8), dx(test.x), dx_alone(test.x);
    x.randomize(11);
    dy.randomize(12);
    omp_set_num_threads(3);
    device().max_pool_forward(test.pool, *x, *y, *argmax);
    device().max_pool_backward(test.pool, *dy, *argmax, *dx, false);
    omp_set_num_threads(1);
    device().max_pool_backward(test.pool, *dy, *argmax, *dx_alone, false);
    omp_set_num_threads(threads);
    EXPECT_EQ(dx.values(), dx_alone.values());
  }
}

TEST(MaxPool, RefusesWindowsThatMissTheInput) {
  const OwnedTensor x({1, 4, 4, 8}), y({1, 3, 3, 8}), argmax({1, 3, 3, 8}, DType::u8);
  EXPECT_THROW(device().max_pool_forward({2, 2, 1}, *x, *y, *argmax), std::logic_error);
  EXPECT_THROW(device().max_pool_forward({16, 1, 15}, *x, *x, Tensor{}), std::logic_error);
}

}  // namespace
}  // namespace brightnet::testing
