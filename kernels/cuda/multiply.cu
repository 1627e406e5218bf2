// y = or += a · b. Reads both factors (and y, to add to it) and writes y once, 16 bytes at a time; fp32,
// rounded once.
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/elementwise.h"

namespace brightnet::cuda {
namespace {

template <typename T>
struct MultiplyElements {
  const T *a, *b;
  T* y;
  bool accumulate;

  template <int count>
  __device__ void operator()(size_t i) const {
    float left[count], right[count], sum[count] = {};
    load_floats<count>(a + i, left);
    load_floats<count>(b + i, right);
    if (accumulate) load_floats<count>(y + i, sum);
#pragma unroll
    for (int k = 0; k < count; ++k) sum[k] += left[k] * right[k];
    store_floats<count>(y + i, sum);
  }
};

}  // namespace

void CudaBackend::multiply(const Tensor& a, const Tensor& b, const Tensor& y, bool accumulate) {
  BRIGHTNET_CHECK(a.shape == y.shape && b.shape == y.shape && a.type == y.type && b.type == y.type,
                  "product of unlike tensors");
  with_compute_type(y.type, [&]<typename T>() {
    for_each_element<whole_vector<T>>(y.count(), {a.data, b.data, y.data},
                                      MultiplyElements<T>{a.as<T>(), b.as<T>(), y.as<T>(), accumulate},
                                      stream(), Traffic{(accumulate ? 3 : 2) * y.bytes(), y.bytes()});
  });
}

}  // namespace brightnet::cuda
