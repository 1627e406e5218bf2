#include "tests/kernels/reference.h"

namespace brightnet::testing {
namespace {

TEST(NormalizeImage, DividesEveryByteBy255) {
  for (const DType type : compute_types()) {
    for (const Shape& shape :
         {Shape{1, 1, 1, 3}, Shape{3, 13, 19, 3}, Shape{17, 5, 7, 3}, Shape{2, 128, 96, 3}}) {
      OwnedTensor pixels(shape, DType::u8), x(shape, type, true);
      Random random(7, Purpose::test);
      for (size_t i = 0; i < pixels.count(); ++i)
        pixels.set(i, i < 256 ? static_cast<double>(i) : random.below(256));
      device().normalize_image(*pixels, *x);
      for (size_t i = 0; i < x.count(); ++i) {
        const float exact = static_cast<float>(pixels[i] / 255.0);
        ASSERT_EQ(x[i], rounded(exact, type)) << pixels[i];
      }
    }
  }
}

TEST(NormalizeImage, ChannelsThatTheDeviceAddsAreZero) {
  for (const DType type : compute_types()) {
    for (const Shape& shape :
         {Shape{1, 1, 1, 3}, Shape{3, 13, 19, 3}, Shape{2, 5, 7, 1}, Shape{1, 9, 4, 8}, Shape{1, 3, 5, 11}}) {
      Shape wide = shape;
      wide.c = device().padded_channels(shape.c, type);
      ASSERT_GE(wide.c, shape.c);
      for (const bool misaligned : {false, true}) {
        OwnedTensor pixels(shape, DType::u8), x(wide, type, misaligned);
        Random random(7, Purpose::test);
        for (size_t i = 0; i < pixels.count(); ++i) pixels.set(i, random.below(256));
        device().normalize_image(*pixels, *x);
        for (size_t i = 0; i < x.count(); ++i) {
          const size_t channel = i % wide.c, pixel = i / wide.c;
          const double value = channel < static_cast<size_t>(shape.c) ? pixels[pixel * shape.c + channel] : 0;
          ASSERT_EQ(x[i], rounded(static_cast<float>(value / 255.0), type)) << to_string(shape) << ' ' << i;
        }
      }
    }
  }
}

TEST(NormalizeImage, RefusesOtherThanBytes) {
  const OwnedTensor pixels({1, 2, 2, 3}), x({1, 2, 2, 3});
  EXPECT_THROW(device().normalize_image(*pixels, *x), std::logic_error);
}

}  // namespace
}  // namespace brightnet::testing
