#include "tests/kernels/reference.h"

namespace brightnet::testing {
namespace {

Shape folded(const Shape& s, int block) {
  return {s.n, s.h / block, s.w / block, s.c * block * block};
}

/// Where an element of the large tensor goes, as darknet writes its [reorg3d]: output channel k holds input
/// channel k mod C of the pixel ⌊k / C⌋ of the block, counted row by row.
size_t destination(const Shape& large, int block, int n, int h, int w, int c) {
  const int place = (h % block) * block + w % block;
  return index(folded(large, block), n, h / block, w / block, place * large.c + c);
}

const std::vector<std::pair<int, Shape>>& cases() {
  static const std::vector<std::pair<int, Shape>> all{{1, {1, 3, 5, 7}},    {2, {1, 2, 2, 3}},
                                                      {2, {3, 26, 18, 24}}, {2, {2, 20, 20, 33}},
                                                      {3, {2, 9, 6, 5}},    {2, {17, 6, 4, 8}}};
  return all;
}

TEST(SpaceToDepth, PutsEveryBlockOfPixelsIntoOne) {
  for (const DType type : compute_types()) {
    for (const auto& [block, large] : cases()) {
      OwnedTensor x(large, type, true), y(folded(large, block), type);
      x.randomize(1);
      device().space_to_depth(block, *x, *y);
      std::vector<double> expected(x.count());
      for (int n = 0; n < large.n; ++n) {
        for (int h = 0; h < large.h; ++h) {
          for (int w = 0; w < large.w; ++w) {
            for (int c = 0; c < large.c; ++c)
              expected[destination(large, block, n, h, w, c)] = x[index(large, n, h, w, c)];
          }
        }
      }
      ASSERT_EQ(y.values(), expected);
    }
  }
}

TEST(SpaceToDepth, BackwardBringsEveryGradientHome) {
  for (const DType type : compute_types()) {
    for (const bool accumulate : {false, true}) {
      for (const auto& [block, large] : cases()) {
        OwnedTensor dy(folded(large, block), type), dx(large, type);
        dy.randomize(1);
        if (accumulate) dx.randomize(2);
        std::vector<double> expected(dx.count());
        for (int n = 0; n < large.n; ++n) {
          for (int h = 0; h < large.h; ++h) {
            for (int w = 0; w < large.w; ++w) {
              for (int c = 0; c < large.c; ++c) {
                const size_t i = index(large, n, h, w, c);
                expected[i] = dy[destination(large, block, n, h, w, c)] + (accumulate ? dx[i] : 0.0);
              }
            }
          }
        }
        device().space_to_depth_backward(block, *dy, *dx, accumulate);
        expect_near(dx, expected, accumulate ? rounding(type) : 0.0, accumulate ? 1e-7 : 0.0);
      }
    }
  }
}

TEST(SpaceToDepth, RefusesShapesThatDoNotFold) {
  const OwnedTensor odd({1, 3, 4, 2}), even({1, 4, 4, 2}), small({1, 2, 2, 8}),
      half({1, 2, 2, 8}, DType::bf16);
  EXPECT_THROW(device().space_to_depth(2, *odd, *small), std::logic_error);
  EXPECT_THROW(device().space_to_depth(2, *even, *half), std::logic_error);
  EXPECT_THROW(device().space_to_depth(4, *even, *small), std::logic_error);
}

}  // namespace
}  // namespace brightnet::testing
