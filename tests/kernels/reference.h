// What the kernel tests share: tensors that own their memory, fresh random contents, and comparison. Outputs
// start as NaN, so that an element an operation forgot shows.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "core/random.h"
#include "core/tensor.h"
#include "core/threads.h"

namespace brightnet::testing {

/// A tensor and its memory, offset by one element from the vector's start when `misaligned`: no operation may
/// count on more alignment than its element's.
class OwnedTensor {
 public:
  explicit OwnedTensor(const Shape& shape, DType type = DType::f32, bool misaligned = false)
      : bytes_(shape.count() * size_of(type) + 64) {
    tensor_.shape = shape;
    tensor_.type = type;
    tensor_.data = bytes_.data() + (misaligned ? size_of(type) : 0);
    fill(std::numeric_limits<double>::quiet_NaN());
  }
  OwnedTensor(const OwnedTensor&) = delete;
  OwnedTensor(OwnedTensor&&) = default;

  const Tensor& operator*() const { return tensor_; }
  size_t count() const { return tensor_.count(); }

  double operator[](size_t i) const {
    if (tensor_.type == DType::f32) return tensor_.as<float>()[i];
    if (tensor_.type == DType::u8) return tensor_.as<uint8_t>()[i];
    return static_cast<float>(tensor_.as<BFloat16>()[i]);
  }
  void set(size_t i, double value) {
    if (tensor_.type == DType::f32) {
      tensor_.as<float>()[i] = static_cast<float>(value);
    } else if (tensor_.type == DType::u8) {
      tensor_.as<uint8_t>()[i] = std::isnan(value) ? 255 : static_cast<uint8_t>(value);
    } else {
      tensor_.as<BFloat16>()[i] = BFloat16(static_cast<float>(value));
    }
  }
  void fill(double value) {
    for (size_t i = 0; i < count(); ++i) set(i, value);
  }
  /// Standard normal, rounded to the type.
  OwnedTensor& randomize(uint64_t stream) {
    Random random(2024, Purpose::test, 0, stream);
    for (size_t i = 0; i < count(); ++i) set(i, random.normal());
    return *this;
  }
  std::vector<double> values() const {
    std::vector<double> result(count());
    for (size_t i = 0; i < count(); ++i) result[i] = (*this)[i];
    return result;
  }

 private:
  std::vector<unsigned char> bytes_;
  Tensor tensor_;
};

inline size_t index(const Shape& s, int n, int h, int w, int c) {
  return ((static_cast<size_t>(n) * s.h + h) * s.w + w) * s.c + c;
}

/// Relative error of one rounding to the type (half a unit in the last place).
inline double rounding(DType type) {
  return type == DType::bf16 ? 1.0 / 256 : 1.0 / (1 << 24);
}

/// Every element within `relative` of |expected| plus `absolute`; NaN only where NaN is expected.
inline void expect_near(const OwnedTensor& actual, const std::vector<double>& expected, double relative,
                        double absolute) {
  ASSERT_EQ(actual.count(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const double allowed = relative * std::abs(expected[i]) + absolute;
    const bool near = std::isnan(expected[i])
                          ? std::isnan(actual[i])
                          : actual[i] == expected[i] || std::abs(actual[i] - expected[i]) <= allowed;
    ASSERT_TRUE(near) << "element " << i << " of " << to_string((*actual).shape) << ' '
                      << to_string((*actual).type) << ": " << actual[i] << " instead of " << expected[i];
  }
}

/// f32 and bf16: the types every operation exists for.
constexpr DType compute_types[] = {DType::f32, DType::bf16};

/// Shapes that cut vectors, blocks of channels and threads' parts at odd places, small enough for one thread
/// and large enough for several.
inline std::vector<Shape> odd_shapes() {
  return {{1, 1, 1, 3}, {3, 13, 13, 24}, {1, 19, 13, 255}, {3, 19, 19, 64}, {1, 1, 13, 64}, {1, 40, 40, 33}};
}

}  // namespace brightnet::testing
