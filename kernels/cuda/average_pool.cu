// Forward: a block takes 32 channels of one pixel of y; its rows of threads take pixels of the window in turn,
// as many rows as the window keeps busy, and a tree adds up the rows. Reads x once. Backward: a thread takes a
// vector of channels of one pixel of dx and gathers the windows that the pixel is in.

#include "kernels/cuda/channel_vectors.h"
#include "kernels/cuda/cuda_backend.h"

namespace brightnet::cuda {
namespace {

constexpr int pool_columns = 32, most_pool_rows = 32;
constexpr int pixels_of_row = 4;  ///< pixels of the window that are worth a row of threads

struct PoolMaps {
  AveragePool pool;
  Shape in, out;
};

struct Range {
  int begin, end;
};

/// The part of window `at` that lies in the map, along one axis.
__device__ Range part_inside(int at, int window, const AveragePool& pool, int side) {
  const int begin = at * pool.stride - pool.before;
  return {max(begin, 0), min(begin + window, side)};
}

/// The windows along one axis that pixel `at` is in.
__device__ Range windows_of(int at, int window, const AveragePool& pool, int count) {
  const int beyond = at + pool.before - window + 1;  // the first pixel of the earliest one
  return {beyond <= 0 ? 0 : (beyond + pool.stride - 1) / pool.stride,
          min(count, (at + pool.before) / pool.stride + 1)};
}

template <typename T>
__global__ void __launch_bounds__(pool_columns* most_pool_rows) mean_kernel(PoolMaps maps, const T* x, T* y) {
  BRIGHTNET_SHARED(float, sums, [most_pool_rows][pool_columns]);
  const unsigned pixel = blockIdx.x, row_of_maps = pixel / maps.out.w;
  const int oy = static_cast<int>(row_of_maps % maps.out.h),
            image = static_cast<int>(row_of_maps / maps.out.h);
  const int ox = static_cast<int>(pixel % maps.out.w);
  const Range rows = part_inside(oy, maps.pool.height, maps.pool, maps.in.h);
  const Range columns = part_inside(ox, maps.pool.width, maps.pool, maps.in.w);
  const int width = columns.end - columns.begin, pixels = (rows.end - rows.begin) * width;
  const int channel = static_cast<int>(blockIdx.y * pool_columns + threadIdx.x);
  const int thread_row = static_cast<int>(threadIdx.y), thread_rows = static_cast<int>(blockDim.y);
  float sum = 0;
  if (channel < maps.in.c) {
    for (int i = thread_row; i < pixels; i += thread_rows) {
      const int down = i / width;
      const size_t at = (static_cast<size_t>(image) * maps.in.h + rows.begin + down) * maps.in.w +
                        columns.begin + (i - down * width);
      sum += widen(x[at * maps.in.c + channel]);
    }
  }
  sums[thread_row][threadIdx.x] = sum;
  for (int half = thread_rows / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread_row < half) sums[thread_row][threadIdx.x] += sums[thread_row + half][threadIdx.x];
  }
  if (thread_row == 0 && channel < maps.in.c)
    y[static_cast<size_t>(pixel) * maps.in.c + channel] =
        narrow<T>(sums[0][threadIdx.x] / static_cast<float>(pixels));
}

template <typename T, int count>
struct GatherWindows {
  static constexpr int width = count;
  PoolMaps maps;
  const T* dy;
  T* dx;
  bool accumulate;

  __device__ void operator()(unsigned pixel, unsigned channel) const {
    const unsigned row_of_maps = pixel / maps.in.w;
    const int row = static_cast<int>(row_of_maps % maps.in.h);
    const int column = static_cast<int>(pixel - row_of_maps * maps.in.w);
    const size_t first_row = static_cast<size_t>(row_of_maps / maps.in.h) * maps.out.h;
    T* to = dx + static_cast<size_t>(pixel) * maps.in.c + channel;
    float sum[count] = {}, part[count];
    if (accumulate) load_floats<count>(to, sum);
    const Range down = windows_of(row, maps.pool.height, maps.pool, maps.out.h);
    const Range across = windows_of(column, maps.pool.width, maps.pool, maps.out.w);
    for (int oy = down.begin; oy < down.end; ++oy) {
      const Range rows = part_inside(oy, maps.pool.height, maps.pool, maps.in.h);
      for (int ox = across.begin; ox < across.end; ++ox) {
        const Range columns = part_inside(ox, maps.pool.width, maps.pool, maps.in.w);
        const float share =
            1.0f / static_cast<float>((rows.end - rows.begin) * (columns.end - columns.begin));
        load_floats<count>(dy + ((first_row + oy) * maps.out.w + ox) * maps.in.c + channel, part);
#pragma unroll
        for (int k = 0; k < count; ++k) sum[k] += share * part[k];
      }
    }
    store_floats<count>(to, sum);
  }
};

}  // namespace

void CudaBackend::average_pool_forward(const AveragePool& pool, const Tensor& x, const Tensor& y) {
  check_pool(pool, x.shape, y.shape);
  BRIGHTNET_CHECK(x.type == y.type, "pooling between types");
  const PoolMaps maps{pool, x.shape, y.shape};
  unsigned rows = 1;
  while (rows < most_pool_rows && static_cast<int>(2 * rows * pixels_of_row) <= pool.height * pool.width)
    rows *= 2;
  const dim3 grid(static_cast<unsigned>(y.shape.pixels()),
                  blocks_for(static_cast<size_t>(x.shape.c), pool_columns));
  with_compute_type(x.type, [&]<typename T>() {
    launch(mean_kernel<T>, Grid(grid).moving({x.bytes(), y.bytes()}), dim3(pool_columns, rows), 0, stream(),
           maps, x.as<T>(), y.as<T>());
  });
}

void CudaBackend::average_pool_backward(const AveragePool& pool, const Tensor& dy, const Tensor& dx,
                                        bool accumulate) {
  check_pool(pool, dx.shape, dy.shape);
  BRIGHTNET_CHECK(dx.type == dy.type, "pooling between types");
  const PoolMaps maps{pool, dx.shape, dy.shape};
  with_compute_type(dx.type, [&]<typename T>() {
    const auto gather = [&]<int count>() {
      for_each_channel_vector(dx.shape.pixels(), dx.shape.c,
                              GatherWindows<T, count>{maps, dy.as<T>(), dx.as<T>(), accumulate}, stream(),
                              Traffic{dy.bytes() + (accumulate ? dx.bytes() : 0), dx.bytes()});
    };
    channels_fill_vectors({dx, dy}) ? gather.template operator()<whole_vector<T>>()
                                    : gather.template operator()<1>();
  });
}

}  // namespace brightnet::cuda
