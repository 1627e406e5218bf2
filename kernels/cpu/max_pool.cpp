// Forward pass. Three algorithms by shape: 2 × 2 windows in one pass over memory (the hot case of
// yolov4-tiny), large windows at stride 1 by max_pool_cascade, and all others element by element for a block
// of channels.
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/max_pool_cascade.h"
#include "kernels/cpu/max_pool_geometry.h"
#include "kernels/cpu/vector_types.h"

namespace brightnet::cpu {

namespace {

/// The best of four pixels.
template <bool track, typename T>
void best_of_four(const T* a, const T* b, const T* c, const T* d, int channels, T* y, uint8_t* argmax) {
#pragma omp simd
  for (int i = 0; i < channels; ++i) {
    const float first = widen(a[i]), second = widen(b[i]), third = widen(c[i]), fourth = widen(d[i]);
    const bool right = displaces(second, first);
    const float upper = right ? second : first;
    const bool below = displaces(third, upper);
    const float best_of_three = below ? third : upper;
    const bool last = displaces(fourth, best_of_three);
    const float best = last ? fourth : best_of_three;
    const int32_t place = last ? 3 : below ? 2 : right ? 1 : 0;
    store_exact(y[i], best);
    if constexpr (track) argmax[i] = static_cast<uint8_t>(place);
  }
}

/// Bytes are compared as they are, 64 at a time.
template <bool track>
void best_of_four(const uint8_t* a, const uint8_t* b, const uint8_t* c, const uint8_t* d, int channels,
                  uint8_t* y, uint8_t*) requires(!track) {
#pragma omp simd
  for (int i = 0; i < channels; ++i) y[i] = std::max(std::max(a[i], b[i]), std::max(c[i], d[i]));
}

/// One output pixel, channels [channel, channel + channels); at most pool_channels.
template <bool track, typename T>
void pool_window(const PoolGeometry& pool, const PoolWindow& w, const T* x, int image, int channel,
                 int channels, T* y, uint8_t* argmax) {
  float best[pool_channels];
  int32_t won[pool_channels];
  bool first = true;
  for (int row = w.first_row; row < w.last_row; ++row) {
    for (int column = w.first_column; column < w.last_column; ++column) {
      const T* pixel = x + pixel_offset(pool.x, image, row, column) + channel;
      const int32_t place = (row - w.top) * pool.window + column - w.left;
      if (first) {
#pragma omp simd
        for (int c = 0; c < channels; ++c) best[c] = widen(pixel[c]);
        std::fill_n(won, channels, place);
        first = false;
        continue;
      }
#pragma omp simd
      for (int c = 0; c < channels; ++c) {
        const float candidate = widen(pixel[c]);
        const bool wins = displaces(candidate, best[c]);
        best[c] = wins ? candidate : best[c];
        if constexpr (track) won[c] = wins ? place : won[c];
      }
    }
  }
#pragma omp simd
  for (int c = 0; c < channels; ++c) store_exact(y[c], best[c]);
  if constexpr (track) {
    for (int c = 0; c < channels; ++c) argmax[c] = static_cast<uint8_t>(won[c]);
  }
}

template <bool track, typename T>
void pool_row(const PoolGeometry& pool, const T* x, int image, int row, T* y, uint8_t* argmax) {
  const int channels = pool.x.c;
  for (int column = 0; column < pool.y.w; ++column) {
    const PoolWindow w = pool.at(row, column);
    const size_t out = pixel_offset(pool.y, image, row, column);
    const bool whole = w.last_row - w.first_row == 2 && w.last_column - w.first_column == 2;
    if (pool.window == 2 && whole) {
      const T* above = x + pixel_offset(pool.x, image, w.top, w.left);
      const T* below = x + pixel_offset(pool.x, image, w.top + 1, w.left);
      best_of_four<track>(above, above + channels, below, below + channels, channels, y + out,
                          track ? argmax + out : nullptr);
      continue;
    }
    for (int c = 0; c < channels; c += pool_channels) {
      const size_t offset = out + c;
      pool_window<track>(pool, w, x, image, c, std::min(pool_channels, channels - c), y + offset,
                         track ? argmax + offset : nullptr);
    }
  }
}

template <bool track, typename T>
void pool_rows(const PoolGeometry& pool, const T* x, T* y, uint8_t* argmax) {
  const size_t rows = static_cast<size_t>(pool.y.n) * pool.y.h;
  const size_t bytes = (pool.x.count() + pool.y.count()) / rows * sizeof(T);
  parallel_items(rows, bytes, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const int image = static_cast<int>(i) / pool.y.h, row = static_cast<int>(i) % pool.y.h;
      pool_row<track>(pool, x, image, row, y, argmax);
    }
  });
}

}  // namespace

void CpuBackend::max_pool_forward(const PoolSpec& pool, const Tensor& x, const Tensor& y,
                                  const Tensor& argmax) {
  const PoolGeometry geometry(pool, x.shape, y.shape);
  BRIGHTNET_CHECK(x.type == y.type, "max-pool between types");
  BRIGHTNET_CHECK(!argmax || (argmax.type == DType::u8 && argmax.shape == y.shape),
                  "argmax is u8 and of the output's shape");
  uint8_t* winners = argmax ? argmax.as<uint8_t>() : nullptr;
  with_stored_type(x.type, [&]<typename T>() {
    if (pool.stride == 1 && pool.window > 3) {
      max_pool_cascade(geometry, x.as<T>(), y.as<T>(), winners);
    } else if (winners != nullptr) {
      pool_rows<true>(geometry, x.as<T>(), y.as<T>(), winners);
    } else {
      pool_rows<false>(geometry, x.as<T>(), y.as<T>(), winners);
    }
  });
}

}  // namespace brightnet::cpu
