// Images cross the bus as bytes and become the compute type here: 1 byte read and 2 or 4 written an element.
// The channel does not matter, so a batch is one long row; a thread writes 16 bytes at a time.
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/math/image.h"

namespace brightnet::cuda {
namespace {

template <typename T>
struct NormalizeElements {
  const uint8_t* pixels;
  T* x;

  template <int count>
  __device__ void operator()(size_t i) const {
    const Vector<uint8_t, count> bytes = load<count>(pixels + i);
    float values[count];
#pragma unroll
    for (int k = 0; k < count; ++k) values[k] = normalized_pixel(bytes.element[k]);
    store_floats<count>(x + i, values);
  }
};

}  // namespace

void CudaBackend::normalize_image(const Tensor& pixels, const Tensor& x) {
  BRIGHTNET_CHECK(pixels.shape == x.shape && pixels.type == DType::u8,
                  "an image is u8 and of its input's shape");
  with_compute_type(x.type, [&]<typename T>() {
    for_each_element<whole_vector<T>>(x.count(), {pixels.data, x.data},
                                      NormalizeElements<T>{pixels.as<uint8_t>(), x.as<T>()}, stream(),
                                      Traffic{pixels.bytes(), x.bytes()});
  });
}

}  // namespace brightnet::cuda
