#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/vector_types.h"

namespace brightnet::cpu {

namespace {

template <typename T>
void multiply_part(const T* a, const T* b, T* y, size_t begin, size_t end, bool accumulate) {
  if (accumulate) {
#pragma omp simd
    for (size_t i = begin; i < end; ++i) store(y[i], widen(y[i]) + widen(a[i]) * widen(b[i]));
  } else {
#pragma omp simd
    for (size_t i = begin; i < end; ++i) store(y[i], widen(a[i]) * widen(b[i]));
  }
}

}  // namespace

void CpuBackend::multiply(const Tensor& a, const Tensor& b, const Tensor& y, bool accumulate) {
  BRIGHTNET_CHECK(a.shape == y.shape && b.shape == y.shape && a.type == y.type && b.type == y.type,
                  "product of unlike tensors");
  with_compute_type(y.type, [&]<typename T>() {
    parallel_elements(y.count(), (accumulate ? 4 : 3) * sizeof(T), [&](size_t begin, size_t end) {
      multiply_part(a.as<T>(), b.as<T>(), y.as<T>(), begin, end, accumulate);
    });
  });
}

}  // namespace brightnet::cpu
