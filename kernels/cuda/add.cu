// y = a + b. Reads both and writes y once: 3 · size bytes, 16 at a time. The sum is fp32, rounded once.
#include "kernels/cuda/convolution_kernels.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/elementwise.h"

namespace brightnet::cuda {
namespace {

template <typename T>
struct AddElements {
  const T *a, *b;
  T* y;

  template <int count>
  __device__ void operator()(size_t i) const {
    float left[count], right[count];
    load_floats<count>(a + i, left);
    load_floats<count>(b + i, right);
#pragma unroll
    for (int k = 0; k < count; ++k) left[k] += right[k];
    store_floats<count>(y + i, left);
  }
};

}  // namespace

void add(const Tensor& a, const Tensor& b, const Tensor& y, cudaStream_t stream) {
  BRIGHTNET_CHECK(a.shape == y.shape && b.shape == y.shape && a.type == y.type && b.type == y.type,
                  "sum of unlike tensors");
  with_compute_type(y.type, [&]<typename T>() {
    for_each_element<whole_vector<T>>(y.count(), {a.data, b.data, y.data},
                                      AddElements<T>{a.as<T>(), b.as<T>(), y.as<T>()}, stream,
                                      Traffic{2 * y.bytes(), y.bytes()});
  });
}

void CudaBackend::add(const Tensor& a, const Tensor& b, const Tensor& y) {
  cuda::add(a, b, y, stream());
}

}  // namespace brightnet::cuda
