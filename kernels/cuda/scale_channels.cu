// scale_channels reads and writes every element once: a thread holds a vector of channels of one pixel, and an
// image's factors stay in the cache. channel_products: a block takes 32 channels of one row of sums, 32 pixels
// at a time, and a tree adds up its rows; few blocks for one large image, in a fixed order.
#include "kernels/cuda/channel_vectors.h"
#include "kernels/cuda/cuda_backend.h"

namespace brightnet::cuda {
namespace {

void check_rows(const Tensor& x, const Tensor& rows) {
  const Shape& s = rows.shape;
  BRIGHTNET_CHECK(
      rows.type == DType::f32 && s.h == 1 && s.w == 1 && s.c == x.shape.c && (s.n == 1 || s.n == x.shape.n),
      "factors of shape " + to_string(s) + " for " + to_string(x.shape));
}

template <typename T, int count>
struct ScaleVector {
  static constexpr int width = count;
  const T* x;
  const float* factors;
  T* y;
  int channels;
  unsigned pixels_per_row;
  bool accumulate;

  __device__ void operator()(unsigned pixel, unsigned channel) const {
    const size_t at = static_cast<size_t>(pixel) * channels + channel;
    const float* factor = factors + static_cast<size_t>(pixel / pixels_per_row) * channels + channel;
    float values[count], sum[count] = {};
    load_floats<count>(x + at, values);
    if (accumulate) load_floats<count>(y + at, sum);
#pragma unroll
    for (int k = 0; k < count; ++k) sum[k] += values[k] * factor[k];
    store_floats<count>(y + at, sum);
  }
};

constexpr int product_columns = 32, product_rows = 32;

template <typename T>
__global__ void __launch_bounds__(product_columns* product_rows)
    products_kernel(const T* a, const T* b, size_t pixels, int channels, float* sums) {
  BRIGHTNET_SHARED(float, parts, [product_rows][product_columns]);
  const int channel = static_cast<int>(blockIdx.y * product_columns + threadIdx.x);
  const size_t first = static_cast<size_t>(blockIdx.x) * pixels;
  float sum = 0;
  if (channel < channels) {
#pragma unroll 4
    for (size_t pixel = threadIdx.y; pixel < pixels; pixel += product_rows) {
      const size_t at = (first + pixel) * channels + channel;
      sum += widen(a[at]) * widen(b[at]);
    }
  }
  parts[threadIdx.y][threadIdx.x] = sum;
  for (unsigned half = product_rows / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.y < half) parts[threadIdx.y][threadIdx.x] += parts[threadIdx.y + half][threadIdx.x];
  }
  if (threadIdx.y == 0 && channel < channels)
    sums[static_cast<size_t>(blockIdx.x) * channels + channel] = parts[0][threadIdx.x];
}

}  // namespace

void CudaBackend::scale_channels(const Tensor& x, const Tensor& factors, const Tensor& y, bool accumulate) {
  BRIGHTNET_CHECK(x.shape == y.shape && x.type == y.type, "channels scaled into an unlike tensor");
  check_rows(x, factors);
  const auto pixels_per_row = static_cast<unsigned>(x.shape.pixels() / static_cast<size_t>(factors.shape.n));
  with_compute_type(x.type, [&]<typename T>() {
    const auto scale = [&]<int count>() {
      const ScaleVector<T, count> body{x.as<T>(), factors.as<float>(), y.as<T>(),
                                       x.shape.c, pixels_per_row,      accumulate};
      for_each_channel_vector(x.shape.pixels(), x.shape.c, body, stream(),
                              Traffic{x.bytes() + factors.bytes() + (accumulate ? y.bytes() : 0), y.bytes()});
    };
    channels_fill_vectors({x, y}) ? scale.template operator()<whole_vector<T>>()
                                  : scale.template operator()<1>();
  });
}

void CudaBackend::channel_products(const Tensor& a, const Tensor& b, const Tensor& sums) {
  BRIGHTNET_CHECK(a.shape == b.shape && a.type == b.type, "product of unlike tensors");
  check_rows(a, sums);
  const unsigned rows = static_cast<unsigned>(sums.shape.n);
  const dim3 grid(rows, blocks_for(static_cast<size_t>(a.shape.c), product_columns));
  with_compute_type(a.type, [&]<typename T>() {
    launch(products_kernel<T>, Grid(grid).moving({a.bytes() + b.bytes(), sums.bytes()}),
           dim3(product_columns, product_rows), 0, stream(), a.as<T>(), b.as<T>(), a.shape.pixels() / rows,
           a.shape.c, sums.as<float>());
  });
}

}  // namespace brightnet::cuda
