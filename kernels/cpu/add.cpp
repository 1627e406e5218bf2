#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/vector_types.h"

namespace brightnet::cpu {

namespace {

template <typename T>
void add_part(const T* a, const T* b, T* y, size_t begin, size_t end) {
#pragma omp simd
  for (size_t i = begin; i < end; ++i) store(y[i], widen(a[i]) + widen(b[i]));
}

}  // namespace

void CpuBackend::add(const Tensor& a, const Tensor& b, const Tensor& y) {
  BRIGHTNET_CHECK(a.shape == y.shape && b.shape == y.shape && a.type == y.type && b.type == y.type,
                  "sum of unlike tensors");
  with_compute_type(y.type, [&]<typename T>() {
    parallel_elements(y.count(), 3 * sizeof(T),
                      [left = a.as<T>(), right = b.as<T>(), to = y.as<T>()](size_t begin, size_t end) {
                        add_part(left, right, to, begin, end);
                      });
  });
}

}  // namespace brightnet::cpu
