// Images cross the bus as bytes and become the compute type here: 1 byte read and 2 or 4 written an element.
// Where the channel does not matter, a batch is one long row; a thread writes 16 bytes at a time, either way.
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

/// Writes zeros after a pixel's own channels.
template <typename T>
struct NormalizePixels {
  const uint8_t* pixels;
  T* x;
  unsigned channels, all;

  /// Vectors are numbered with 32 bits: dividing 64-bit numbers would take longer than moving 16 bytes.
  template <int count>
  __device__ void operator()(size_t i) const {
    const unsigned vector = static_cast<unsigned>(i / count), of_pixel = all / count;
    const unsigned pixel = vector / of_pixel, first = vector % of_pixel * count;
    float values[count];
#pragma unroll
    for (int k = 0; k < count; ++k) {
      const unsigned channel = first + k;
      values[k] = channel < channels
                      ? normalized_pixel(pixels[static_cast<size_t>(pixel) * channels + channel])
                      : 0.0f;
    }
    store_floats<count>(x + i, values);
  }
};

}  // namespace

void CudaBackend::normalize_image(const Tensor& pixels, const Tensor& x) {
  const int channels = pixels.shape.c, all = x.shape.c;
  BRIGHTNET_CHECK(pixels.shape.pixels() == x.shape.pixels() && channels <= all && pixels.type == DType::u8,
                  "an image is u8 and of its input's shape");
  BRIGHTNET_CHECK(x.count() <= 0xffffffffu * size_t{8}, "images of more than 2^32 vectors");
  const Traffic traffic{pixels.bytes(), x.bytes()};
  with_compute_type(x.type, [&]<typename T>() {
    if (channels == all) {
      for_each_element<whole_vector<T>>(x.count(), {pixels.data, x.data},
                                        NormalizeElements<T>{pixels.as<uint8_t>(), x.as<T>()}, stream(),
                                        traffic);
      return;
    }
    const NormalizePixels<T> body{pixels.as<uint8_t>(), x.as<T>(), static_cast<unsigned>(channels),
                                  static_cast<unsigned>(all)};
    all % whole_vector<T> == 0
        ? for_each_element<whole_vector<T>>(x.count(), {x.data}, body, stream(), traffic)
        : for_each_element<1>(x.count(), {x.data}, body, stream(), traffic);
  });
}

}  // namespace brightnet::cuda
