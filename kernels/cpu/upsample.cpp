// Forward: each row of x is expanded once and copied factor − 1 times while it is in cache. Backward: each
// pixel of dx gathers its factor² pixels of dy, a block of channels at a time, so that dx is touched once and
// bf16 sums are rounded once.
#include <cstring>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/vector_types.h"

namespace brightnet::cpu {

namespace {

template <typename T>
void upsample_row(int factor, const T* x, T* y, size_t width, size_t channels) {
  T* out = y;
  for (size_t column = 0; column < width; ++column) {
    for (int copy = 0; copy < factor; ++copy, out += channels) {
      std::memcpy(out, x + column * channels, channels * sizeof(T));
    }
  }
  const size_t row = static_cast<size_t>(out - y);
  for (int copy = 1; copy < factor; ++copy) std::memcpy(y + row * copy, y, row * sizeof(T));
}

/// dx[c] = or += Σ over factor × factor pixels of dy[c], for up to `block` channels.
constexpr size_t block = 64;

template <typename T>
void sum_pixels(int factor, const T* dy, size_t row_step, size_t pixel_step, T* dx, size_t channels,
                bool accumulate) {
  float sum[block];
#pragma omp simd
  for (size_t c = 0; c < channels; ++c) sum[c] = accumulate ? widen(dx[c]) : 0.0f;
  for (int i = 0; i < factor; ++i) {
    for (int j = 0; j < factor; ++j) {
      const T* pixel = dy + i * row_step + j * pixel_step;
#pragma omp simd
      for (size_t c = 0; c < channels; ++c) sum[c] += widen(pixel[c]);
    }
  }
#pragma omp simd
  for (size_t c = 0; c < channels; ++c) store(dx[c], sum[c]);
}

/// sum_pixels() for factor 2, without an array of sums.
template <typename T>
void sum_four(const T* dy, size_t row_step, size_t pixel_step, T* dx, size_t channels, bool accumulate) {
  const T *right = dy + pixel_step, *below = dy + row_step, *diagonal = below + pixel_step;
  if (accumulate) {
#pragma omp simd
    for (size_t c = 0; c < channels; ++c) {
      store(dx[c], widen(dx[c]) + widen(dy[c]) + widen(right[c]) + widen(below[c]) + widen(diagonal[c]));
    }
  } else {
#pragma omp simd
    for (size_t c = 0; c < channels; ++c) {
      store(dx[c], widen(dy[c]) + widen(right[c]) + widen(below[c]) + widen(diagonal[c]));
    }
  }
}

void check_shapes(int factor, const Shape& small, const Shape& large) {
  BRIGHTNET_CHECK(
      factor >= 1 && (large == Shape{small.n, small.h * factor, small.w * factor, small.c}),
      "upsampling of " + to_string(small) + " by " + std::to_string(factor) + " to " + to_string(large));
}

}  // namespace

void CpuBackend::upsample_forward(int factor, const Tensor& x, const Tensor& y) {
  check_shapes(factor, x.shape, y.shape);
  BRIGHTNET_CHECK(x.type == y.type, "upsampling between types");
  with_stored_type(x.type, [&]<typename T>() {
    const size_t rows = static_cast<size_t>(x.shape.n) * x.shape.h, width = x.shape.w, channels = x.shape.c,
                 row = width * channels, copies = static_cast<size_t>(factor) * factor;
    parallel_items(rows, (1 + copies) * row * sizeof(T), [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        upsample_row(factor, x.as<T>() + i * row, y.as<T>() + i * row * copies, width, channels);
      }
    });
  });
}

void CpuBackend::upsample_backward(int factor, const Tensor& dy, const Tensor& dx, bool accumulate) {
  check_shapes(factor, dx.shape, dy.shape);
  BRIGHTNET_CHECK(dx.type == dy.type, "upsampling between types");
  with_compute_type(dx.type, [&]<typename T>() {
    const size_t rows = static_cast<size_t>(dx.shape.n) * dx.shape.h, width = dx.shape.w,
                 channels = dx.shape.c, row = width * channels, copies = static_cast<size_t>(factor) * factor,
                 large_row = row * factor;
    parallel_items(rows, (1 + copies) * row * sizeof(T), [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        const T* from = dy.as<T>() + i * row * copies;
        T* to = dx.as<T>() + i * row;
        for (size_t column = 0; column < width; ++column) {
          const T* pixels = from + column * channels * factor;
          T* pixel = to + column * channels;
          if (factor == 2) {
            sum_four(pixels, large_row, channels, pixel, channels, accumulate);
            continue;
          }
          for (size_t c = 0; c < channels; c += block) {
            sum_pixels(factor, pixels + c, large_row, channels, pixel + c, std::min(block, channels - c),
                       accumulate);
          }
        }
      }
    });
  });
}

}  // namespace brightnet::cpu
