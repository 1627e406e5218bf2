// One pass over memory in each direction: forward reads x and writes y, backward reads x and dy and writes
// dy. The formulas are branch-free (kernels/math/activation.h), so all loops vectorise.
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/vector_types.h"

namespace brightnet::cpu {

namespace {

template <Activation A, typename T>
void forward_part(const T* x, T* y, size_t begin, size_t end) {
#pragma omp simd
  for (size_t i = begin; i < end; ++i) store(y[i], activate<A>(widen(x[i])));
}

template <Activation A, typename T>
void backward_part(const T* x, T* dy, size_t begin, size_t end) {
#pragma omp simd
  for (size_t i = begin; i < end; ++i) store(dy[i], widen(dy[i]) * activation_gradient<A>(widen(x[i])));
}

}  // namespace

void apply_activation(Activation activation, const Tensor& x, const Tensor& y) {
  BRIGHTNET_CHECK(x.shape == y.shape && x.type == y.type, "activation between unlike tensors");
  if (activation == Activation::linear && x.data == y.data) return;
  with_activation(activation, [&]<Activation A>() {
    with_compute_type(x.type, [&]<typename T>() {
      parallel_elements(x.count(), 2 * sizeof(T),
                        [from = x.as<T>(), to = y.as<T>()](size_t begin, size_t end) {
                          forward_part<A>(from, to, begin, end);
                        });
    });
  });
}

void CpuBackend::activation_forward(Activation activation, const Tensor& x, const Tensor& y) {
  apply_activation(activation, x, y);
}

void CpuBackend::activation_backward(Activation activation, const Tensor& x, const Tensor& dy) {
  BRIGHTNET_CHECK(x.shape == dy.shape && x.type == dy.type, "activation gradient between unlike tensors");
  if (activation == Activation::linear) return;
  with_activation(activation, [&]<Activation A>() {
    with_compute_type(x.type, [&]<typename T>() {
      parallel_elements(x.count(), 3 * sizeof(T),
                        [from = x.as<T>(), to = dy.as<T>()](size_t begin, size_t end) {
                          backward_part<A>(from, to, begin, end);
                        });
    });
  });
}

}  // namespace brightnet::cpu
