// Both directions touch every element of both tensors once, (1 + factor²) · size of the small one: a thread
// takes a vector of channels of one small pixel, and writes it factor² times or sums factor² vectors.
#include "kernels/cuda/channel_vectors.h"
#include "kernels/cuda/cuda_backend.h"

namespace brightnet::cuda {
namespace {

/// The place where a small pixel's first large one begins, and the steps to the others, in elements.
struct Enlargement {
  int factor, width, channels;  ///< enlargement; width and channels of the small tensor

  __device__ size_t row_step() const { return static_cast<size_t>(width) * factor * channels; }
  __device__ size_t first(unsigned pixel) const {
    const unsigned row = pixel / width, column = pixel - row * width;  // rows of all images
    return row * factor * row_step() + static_cast<size_t>(column) * factor * channels;
  }
};

template <typename T, int count>
struct RepeatVector {
  static constexpr int width = count;
  Enlargement large;
  const T* x;
  T* y;

  __device__ void operator()(unsigned pixel, unsigned channel) const {
    const Vector<T, count> vector = load<count>(x + static_cast<size_t>(pixel) * large.channels + channel);
    T* to = y + large.first(pixel) + channel;
    for (int i = 0; i < large.factor; ++i, to += large.row_step()) {
      for (int j = 0; j < large.factor; ++j)
        store<count>(to + static_cast<size_t>(j) * large.channels, vector);
    }
  }
};

template <typename T, int count>
struct SumVectors {
  static constexpr int width = count;
  Enlargement large;
  const T* dy;
  T* dx;
  bool accumulate;

  __device__ void operator()(unsigned pixel, unsigned channel) const {
    T* to = dx + static_cast<size_t>(pixel) * large.channels + channel;
    float sum[count] = {}, part[count];
    if (accumulate) load_floats<count>(to, sum);
    const T* from = dy + large.first(pixel) + channel;
    for (int i = 0; i < large.factor; ++i, from += large.row_step()) {
      for (int j = 0; j < large.factor; ++j) {
        load_floats<count>(from + static_cast<size_t>(j) * large.channels, part);
#pragma unroll
        for (int k = 0; k < count; ++k) sum[k] += part[k];
      }
    }
    store_floats<count>(to, sum);
  }
};

void check_shapes(int factor, const Tensor& small, const Tensor& large) {
  const Shape& s = small.shape;
  BRIGHTNET_CHECK(
      factor >= 1 && (large.shape == Shape{s.n, s.h * factor, s.w * factor, s.c}),
      "upsampling of " + to_string(s) + " by " + std::to_string(factor) + " to " + to_string(large.shape));
  BRIGHTNET_CHECK(small.type == large.type, "upsampling between types");
}

}  // namespace

void CudaBackend::upsample_forward(int factor, const Tensor& x, const Tensor& y) {
  check_shapes(factor, x, y);
  const Enlargement large{factor, x.shape.w, x.shape.c};
  with_compute_type(x.type, [&]<typename T>() {
    const auto repeat = [&]<int count>() {
      for_each_channel_vector(x.shape.pixels(), x.shape.c,
                              RepeatVector<T, count>{large, x.as<T>(), y.as<T>()}, stream(),
                              Traffic{x.bytes(), y.bytes()});
    };
    channels_fill_vectors({x, y}) ? repeat.template operator()<whole_vector<T>>()
                                  : repeat.template operator()<1>();
  });
}

void CudaBackend::upsample_backward(int factor, const Tensor& dy, const Tensor& dx, bool accumulate) {
  check_shapes(factor, dx, dy);
  const Enlargement large{factor, dx.shape.w, dx.shape.c};
  with_compute_type(dx.type, [&]<typename T>() {
    const auto sum = [&]<int count>() {
      for_each_channel_vector(dx.shape.pixels(), dx.shape.c,
                              SumVectors<T, count>{large, dy.as<T>(), dx.as<T>(), accumulate}, stream(),
                              Traffic{dy.bytes() + (accumulate ? dx.bytes() : 0), dx.bytes()});
    };
    channels_fill_vectors({dx, dy}) ? sum.template operator()<whole_vector<T>>()
                                    : sum.template operator()<1>();
  });
}

}  // namespace brightnet::cuda
