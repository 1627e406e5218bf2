// Forward: a thread takes a block of channels of one pixel of y; rows of the window are summed in fp32 and the
// rows in fp64, since a window may be a whole map. Backward: every pixel of dx gathers the windows that it is
// in, so that dx is written once.
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/max_pool_geometry.h"
#include "kernels/cpu/vector_types.h"

namespace brightnet::cpu {

namespace {

constexpr size_t block = 64;  ///< channels

/// The part of a window that lies in the map, along one axis.
struct Extent {
  int begin, end;

  Extent(int at, int window, const AveragePool& pool, int side)
      : begin(std::max(0, at * pool.stride - pool.before)),
        end(std::min(side, at * pool.stride - pool.before + window)) {}
  int length() const { return end - begin; }
};

/// The windows along one axis that `at` is in: [first, last].
struct Windows {
  int first, last;

  Windows(int at, int window, const AveragePool& pool, int count) {
    const int beyond = at + pool.before - window + 1;  // the first pixel of the earliest one
    first = beyond <= 0 ? 0 : (beyond + pool.stride - 1) / pool.stride;
    last = std::min(count - 1, (at + pool.before) / pool.stride);
  }
};

template <typename T>
void mean_of_window(const T* x, const Shape& shape, const Extent& rows, const Extent& columns, T* y,
                    size_t channels) {
  double total[block] = {};
  for (int row = rows.begin; row < rows.end; ++row) {
    float sum[block] = {};
    for (int column = columns.begin; column < columns.end; ++column) {
      const T* pixel = x + (static_cast<size_t>(row) * shape.w + column) * shape.c;
#pragma omp simd
      for (size_t c = 0; c < channels; ++c) sum[c] += widen(pixel[c]);
    }
    for (size_t c = 0; c < channels; ++c) total[c] += static_cast<double>(sum[c]);
  }
  const double count = static_cast<double>(rows.length()) * columns.length();
  for (size_t c = 0; c < channels; ++c) store(y[c], static_cast<float>(total[c] / count));
}

/// Calls body(image, row, column, first channel, channels) for blocks of channels of every pixel.
template <typename Body>
void for_each_block(const Shape& shape, size_t bytes, Body&& body) {
  const size_t blocks = (shape.c + block - 1) / block;
  parallel_items(shape.pixels() * blocks, bytes, [&](size_t begin, size_t end) {
    for (size_t item = begin; item < end; ++item) {
      const size_t pixel = item / blocks, first = item % blocks * block;
      const size_t row = pixel / shape.w;
      body(static_cast<int>(row / shape.h), static_cast<int>(row % shape.h),
           static_cast<int>(pixel % shape.w), first, std::min(block, shape.c - first));
    }
  });
}

}  // namespace

void CpuBackend::average_pool_forward(const AveragePool& pool, const Tensor& x, const Tensor& y) {
  check_pool(pool, x.shape, y.shape);
  BRIGHTNET_CHECK(x.type == y.type, "pooling between types");
  with_compute_type(x.type, [&]<typename T>() {
    const size_t bytes = static_cast<size_t>(pool.height) * pool.width * block * sizeof(T);
    for_each_block(y.shape, bytes, [&](int image, int row, int column, size_t first, size_t channels) {
      mean_of_window(x.as<T>() + pixel_offset(x.shape, image, 0, 0) + first, x.shape,
                     Extent(row, pool.height, pool, x.shape.h), Extent(column, pool.width, pool, x.shape.w),
                     y.as<T>() + pixel_offset(y.shape, image, row, column) + first, channels);
    });
  });
}

void CpuBackend::average_pool_backward(const AveragePool& pool, const Tensor& dy, const Tensor& dx,
                                       bool accumulate) {
  check_pool(pool, dx.shape, dy.shape);
  BRIGHTNET_CHECK(dx.type == dy.type, "pooling between types");
  const Shape &in = dx.shape, &out = dy.shape;
  with_compute_type(dx.type, [&]<typename T>() {
    for_each_block(
        in, 2 * block * sizeof(T), [&](int image, int row, int column, size_t first, size_t channels) {
          T* to = dx.as<T>() + pixel_offset(in, image, row, column) + first;
          float sum[block];
          for (size_t c = 0; c < channels; ++c) sum[c] = accumulate ? widen(to[c]) : 0.0f;
          const Windows down(row, pool.height, pool, out.h), across(column, pool.width, pool, out.w);
          for (int oy = down.first; oy <= down.last; ++oy) {
            for (int ox = across.first; ox <= across.last; ++ox) {
              const int pixels =
                  Extent(oy, pool.height, pool, in.h).length() * Extent(ox, pool.width, pool, in.w).length();
              const float share = 1.0f / pixels;
              const T* from = dy.as<T>() + pixel_offset(out, image, oy, ox) + first;
#pragma omp simd
              for (size_t c = 0; c < channels; ++c) sum[c] += share * widen(from[c]);
            }
          }
#pragma omp simd
          for (size_t c = 0; c < channels; ++c) store(to[c], sum[c]);
        });
  });
}

}  // namespace brightnet::cpu
