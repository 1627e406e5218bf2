// A division would take longer than its memory traffic, a product with 1/255 would be off in the last bit for
// some values. So 1/255 is split in two: a byte times the upper 16 bits is exact, and the rest of the product
// is too small for its rounding to show. A test compares all 256 values with the exact quotient.
#include "kernels/cpu/image.h"

#include "kernels/cpu/vector_types.h"

namespace brightnet::cpu {

namespace {

constexpr float upper = 257.0f / 65536.0f;
constexpr float lower = static_cast<float>(1.0 / 255.0 - 257.0 / 65536.0);

template <typename T>
void normalize_part(const uint8_t* pixels, T* x, size_t begin, size_t end) {
#pragma omp simd
  for (size_t i = begin; i < end; ++i) {
    const float value = pixels[i];
    store(x[i], value * upper + value * lower);
  }
}

}  // namespace

void normalize_image(const Tensor& pixels, const Tensor& x) {
  BRIGHTNET_CHECK(pixels.shape == x.shape && pixels.type == DType::u8,
                  "an image is u8 and of its input's shape");
  with_compute_type(x.type, [&]<typename T>() {
    parallel_elements(x.count(), 1 + sizeof(T),
                      [from = pixels.as<uint8_t>(), to = x.as<T>()](size_t begin, size_t end) {
                        normalize_part(from, to, begin, end);
                      });
  });
}

}  // namespace brightnet::cpu
