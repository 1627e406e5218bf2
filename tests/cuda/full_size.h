// Tensors as large as yolov4's largest layer: 64 images of 608 × 608 pixels, more than 2³¹ bytes. Numbers of pixels,
// vectors and bytes are then near the limits of 32 bits, which no other test reaches. All images are alike, so that
// each image's part of the result must be what the operation makes of one image alone, and that is compared with fp64
// in the tests of the operations. The emulated GPU runs the same tests on small images.
#pragma once

#include <cstring>
#include <functional>

#include <gtest/gtest.h>

#include "layers/parameters.h"
#include "tests/kernels/device.h"

namespace brightnet::testing {

struct FullExtent {
  int images, side;
  size_t needed_bytes;
};
inline const FullExtent& full_extent() {
  static const bool emulated = device().name() == "emulated GPU";
  static const FullExtent extent = emulated ? FullExtent{3, 20, 0} : FullExtent{64, 608, size_t{15} << 30};
  return extent;
}

#define SKIP_WITHOUT_ROOM() \
  if (device().free_bytes() < full_extent().needed_bytes) GTEST_SKIP() << "too little free memory on this GPU"

/// Images that are all alike, in the device's memory.
class Images {
 public:
  /// Normal numbers, named by the seed; 0: zeros.
  Images(int images, const Shape& image, DType type, uint64_t seed = 0)
      : image_(image), memory_(device(), image.count() * size_of(type) * images) {
    tensor_ = {memory_.data(), {images, image.h, image.w, image.c}, type};
    if (seed == 0) {
      device().zero(memory_.data(), memory_.bytes());
      return;
    }
    // A prime number of them again and again, so that no row or column is like another.
    constexpr size_t period = 65537;
    Random random(seed, Purpose::test);
    std::vector<std::byte> numbers(image_bytes()), pattern(period * size_of(type));
    for (size_t i = 0; i < period; ++i) {
      const float value = static_cast<float>(random.normal());
      const uint16_t half = half_bits(value);
      if (type == DType::u8) pattern[i] = static_cast<std::byte>(random.below(256));
      if (type == DType::f32) std::memcpy(&pattern[4 * i], &value, 4);
      if (type == DType::f16) std::memcpy(&pattern[2 * i], &half, 2);
    }
    for (size_t at = 0; at < numbers.size(); at += pattern.size())
      std::memcpy(&numbers[at], pattern.data(), std::min(pattern.size(), numbers.size() - at));
    device().upload(memory_.data(), numbers.data(), numbers.size());
    for (int i = 1; i < images; ++i) device().copy(place(i), place(0), image_bytes());
  }

  const Tensor& operator*() const { return tensor_; }

  std::vector<float> read(int image) const {
    std::vector<std::byte> bytes(image_bytes());
    device().download(bytes.data(), place(image), bytes.size());
    std::vector<float> values(image_.count());
    for (size_t i = 0; i < values.size(); ++i) {
      uint16_t half = 0;
      if (tensor_.type == DType::u8) values[i] = static_cast<float>(bytes[i]);
      if (tensor_.type == DType::f32) std::memcpy(&values[i], &bytes[4 * i], 4);
      if (tensor_.type != DType::f16) continue;
      std::memcpy(&half, &bytes[2 * i], 2);
      values[i] = static_cast<float>(half_value(half));
    }
    return values;
  }

 private:
  size_t image_bytes() const { return image_.count() * size_of(tensor_.type); }
  std::byte* place(int image) const {
    return static_cast<std::byte*>(memory_.data()) + image * image_bytes();
  }

  Shape image_;
  DeviceBuffer memory_;
  Tensor tensor_;
};

/// Makes the result for so many images.
using Operation = std::function<Images(int images)>;

inline void expect_the_same_of_every_image(const Operation& operation, double tolerance = 0) {
  const std::vector<float> expected = operation(1).read(0);
  const Images result = operation(full_extent().images);
  for (const int image : {0, full_extent().images / 2, full_extent().images - 1}) {
    const std::vector<float> actual = result.read(image);
    size_t wrong = 0, first = 0;
    for (size_t i = 0; i < actual.size(); ++i) {
      const double allowed = tolerance * (1 + std::abs(static_cast<double>(expected[i])));
      const bool near =
          actual[i] == expected[i] || std::abs(static_cast<double>(actual[i]) - expected[i]) <= allowed;
      if (!near && wrong++ == 0) first = i;
    }
    ASSERT_EQ(wrong, 0u) << "of image " << image << ", the first is element " << first << ": "
                         << actual[first] << " instead of " << expected[first];
  }
}

}  // namespace brightnet::testing
