// Average pools against the definition, and their gradients against the transpose of it, in fp64.
#include "kernels/average_pool.h"

#include "tests/kernels/reference.h"

namespace brightnet::testing {
namespace {

struct AveragePoolCase {
  AveragePool pool;
  Shape x, y;

  friend std::ostream& operator<<(std::ostream& out, const AveragePoolCase& c) {
    return out << c.pool.height << 'x' << c.pool.width << " / " << c.pool.stride << " of " << to_string(c.x);
  }
};

/// Calls visit(element of x, element of y, elements of the window).
template <typename Visit>
void for_each_share(const AveragePoolCase& c, Visit&& visit) {
  for (int n = 0; n < c.y.n; ++n)
    for (int oy = 0; oy < c.y.h; ++oy)
      for (int ox = 0; ox < c.y.w; ++ox) {
        std::vector<std::pair<int, int>> inside;
        for (int i = 0; i < c.pool.height; ++i)
          for (int j = 0; j < c.pool.width; ++j) {
            const int y = oy * c.pool.stride - c.pool.before + i, x = ox * c.pool.stride - c.pool.before + j;
            if (y >= 0 && x >= 0 && y < c.x.h && x < c.x.w) inside.emplace_back(y, x);
          }
        for (const auto& [y, x] : inside)
          for (int ch = 0; ch < c.x.c; ++ch)
            visit(index(c.x, n, y, x, ch), index(c.y, n, oy, ox, ch), static_cast<double>(inside.size()));
      }
}

class AveragePoolTest : public ::testing::TestWithParam<AveragePoolCase> {};

TEST_P(AveragePoolTest, IsTheMeanOfWhatTheWindowCovers) {
  for (const DType type : compute_types()) {
    OwnedTensor x(GetParam().x, type), y(GetParam().y, type);
    x.randomize(1, 1, 2);
    device().average_pool_forward(GetParam().pool, *x, *y);
    std::vector<double> expected(y.count());
    for_each_share(GetParam(), [&](size_t i, size_t o, double count) { expected[o] += x[i] / count; });
    expect_near(y, expected, rounding(type), 2e-6);
  }
}

TEST_P(AveragePoolTest, EveryElementOfAWindowGetsItsShareOfTheGradient) {
  for (const DType type : compute_types()) {
    for (const bool accumulate : {false, true}) {
      OwnedTensor dy(GetParam().y, type), dx(GetParam().x, type);
      dy.randomize(2);
      dx.randomize(3);
      std::vector<double> expected(dx.count());
      if (accumulate) expected = dx.values();
      for_each_share(GetParam(), [&](size_t i, size_t o, double count) { expected[i] += dy[o] / count; });
      device().average_pool_backward(GetParam().pool, *dy, *dx, accumulate);
      expect_near(dx, expected, rounding(type), 2e-6);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, AveragePoolTest,
    ::testing::Values(AveragePoolCase{whole_map({2, 13, 9, 24}), {2, 13, 9, 24}, {2, 1, 1, 24}},
                      AveragePoolCase{whole_map({1, 1, 1, 3}), {1, 1, 1, 3}, {1, 1, 1, 3}},
                      AveragePoolCase{whole_map({1, 52, 40, 70}), {1, 52, 40, 70}, {1, 1, 1, 70}},
                      AveragePoolCase{
                          {4, 4, 4, 1}, {2, 16, 12, 3}, {2, 4, 3, 3}},  // [local_avgpool] size=4 stride=4
                      AveragePoolCase{{3, 3, 1, 1}, {1, 7, 5, 33}, {1, 7, 5, 33}},
                      AveragePoolCase{{2, 2, 2, 0}, {3, 9, 9, 8}, {3, 5, 5, 8}},
                      AveragePoolCase{{5, 5, 3, 2}, {1, 10, 11, 16}, {1, 4, 4, 16}}));

}  // namespace
}  // namespace brightnet::testing
