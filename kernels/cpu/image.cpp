#include "kernels/math/image.h"

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/vector_types.h"

namespace brightnet::cpu {

namespace {

template <typename T>
void normalize_part(const uint8_t* pixels, T* x, size_t begin, size_t end) {
#pragma omp simd
  for (size_t i = begin; i < end; ++i) store(x[i], normalized_pixel(pixels[i]));
}

}  // namespace

void CpuBackend::normalize_image(const Tensor& pixels, const Tensor& x) {
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
