// What the operation tests share: shapes, and comparison.
#pragma once

#include <gtest/gtest.h>

#include "core/tensor.h"
#include "kernels/math/activation.h"
#include "tests/kernels/device.h"

namespace brightnet {

/// How tests with parameters are listed.
inline void PrintTo(const Shape& shape, std::ostream* out) {
  *out << to_string(shape);
}
inline void PrintTo(Activation activation, std::ostream* out) {
  *out << enum_name(activation);
}

namespace testing {

inline size_t index(const Shape& s, int n, int h, int w, int c) {
  return ((static_cast<size_t>(n) * s.h + h) * s.w + w) * s.c + c;
}

/// Every element within `relative` of |expected| plus `absolute`; NaN only where NaN is expected.
inline void expect_near(const OwnedTensor& actual, const std::vector<double>& expected, double relative,
                        double absolute) {
  ASSERT_EQ(actual.count(), expected.size());
  // Below the smallest normal half, a rounding is no longer relative.
  if (actual.type() == DType::f16 && relative > 0) absolute += 3e-8;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double allowed = relative * std::abs(expected[i]) + absolute;
    const bool near = std::isnan(expected[i])
                          ? std::isnan(actual[i])
                          : actual[i] == expected[i] || std::abs(actual[i] - expected[i]) <= allowed;
    ASSERT_TRUE(near) << "element " << i << " of " << to_string(actual.shape()) << ' '
                      << enum_name(actual.type()) << ": " << actual[i] << " instead of " << expected[i];
  }
}

inline std::span<const DType> compute_types() {
  return tested_device().compute_types;
}

/// Shapes that cut vectors, blocks of channels and threads' parts at odd places, small enough for one thread
/// and large enough for several.
inline std::vector<Shape> odd_shapes() {
  return {{1, 1, 1, 3},   {3, 13, 13, 24}, {1, 13, 5, 255}, {2, 19, 19, 32},
          {1, 1, 13, 64}, {1, 20, 21, 33}, {17, 5, 3, 24}};
}

}  // namespace testing
}  // namespace brightnet
