// Two algorithms, by the number of windows that contain an input element. Few (2 × 2, 3 × 3): every element
// of dx gathers from the windows that contain it, which has no races and vectorises over channels. Many
// (SPP): every dy is scattered to its winner in an fp32 tile on one thread's stack; a tile is a block of
// channels of as many pixels as fit, the whole plane at SPP's sizes.
#include <algorithm>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/max_pool_geometry.h"
#include "kernels/cpu/vector_types.h"

namespace brightnet::cpu {

namespace {

/// Windows of one direction that contain input coordinate i: outputs [first, last).
struct Covering {
  int first = 0, last = 0;
};
Covering windows_over(int i, const PoolGeometry& pool, int outputs) {
  // o·stride − before ≤ i < o·stride − before + window
  const int from_start = i + pool.before;
  const int past_window = from_start - pool.window;
  return {past_window < 0 ? 0 : past_window / pool.stride + 1,
          std::min(from_start / pool.stride + 1, outputs)};
}

/// dy where the window's winner is at `place`, else 0. Compares floats and always reads dy, because g++ 12
/// vectorises neither a selection of one width by a comparison of another nor a conditional 16-bit read.
template <typename T>
float won(const uint8_t& winner, float place, const T& dy) {
  const float gradient = widen(dy);
  const float at = static_cast<float>(static_cast<int32_t>(winner));
  return at == place ? gradient : 0.0f;
}

template <typename T>
void gather_one(const T* dy, const uint8_t* argmax, float place, T* dx, int channels, bool accumulate) {
  if (accumulate) {
#pragma omp simd
    for (int c = 0; c < channels; ++c) store(dx[c], widen(dx[c]) + won(argmax[c], place, dy[c]));
  } else {
#pragma omp simd
    for (int c = 0; c < channels; ++c) store_exact(dx[c], won(argmax[c], place, dy[c]));
  }
}

/// One pixel of dx, channels [channel, channel + channels); at most pool_channels.
template <typename T>
void gather(const PoolGeometry& pool, const T* dy, const uint8_t* argmax, int image, int row, int column,
            int channel, int channels, T* dx, bool accumulate) {
  const Covering rows = windows_over(row, pool, pool.y.h), columns = windows_over(column, pool, pool.y.w);
  float sum[pool_channels];
#pragma omp simd
  for (int c = 0; c < channels; ++c) sum[c] = accumulate ? widen(dx[c]) : 0.0f;
  for (int i = rows.first; i < rows.last; ++i) {
    for (int j = columns.first; j < columns.last; ++j) {
      const PoolWindow w = pool.at(i, j);
      const float place = (row - w.top) * pool.window + column - w.left;
      const size_t offset = pixel_offset(pool.y, image, i, j) + channel;
#pragma omp simd
      for (int c = 0; c < channels; ++c) {
        sum[c] += won(argmax[offset + c], place, dy[offset + c]);
      }
    }
  }
#pragma omp simd
  for (int c = 0; c < channels; ++c) store(dx[c], sum[c]);
}

template <typename T>
void gather_row(const PoolGeometry& pool, const T* dy, const uint8_t* argmax, int image, int row, T* dx,
                bool accumulate) {
  const Covering rows = windows_over(row, pool, pool.y.h);
  for (int column = 0; column < pool.x.w; ++column) {
    const Covering columns = windows_over(column, pool, pool.y.w);
    T* pixel = dx + pixel_offset(pool.x, image, row, column);
    if (rows.last - rows.first == 1 && columns.last - columns.first == 1) {
      const PoolWindow w = pool.at(rows.first, columns.first);
      const size_t offset = pixel_offset(pool.y, image, rows.first, columns.first);
      const float place = (row - w.top) * pool.window + column - w.left;
      gather_one(dy + offset, argmax + offset, place, pixel, pool.x.c, accumulate);
      continue;
    }
    for (int c = 0; c < pool.x.c; c += pool_channels) {
      gather(pool, dy, argmax, image, row, column, c, std::min(pool_channels, pool.x.c - c), pixel + c,
             accumulate);
    }
  }
}

constexpr int scatter_channels = 16;
constexpr int scatter_pixels = 1024;

/// A rectangle of dx with the sums of one block of channels.
struct ScatterTile {
  int image = 0, row = 0, column = 0, height = 0, width = 0, channel = 0, channels = 0;
  alignas(64) float sum[scatter_pixels][scatter_channels];
};

template <typename T>
void scatter(const PoolGeometry& pool, const T* dy, const uint8_t* argmax, ScatterTile& tile) {
  const int first_row = windows_over(tile.row, pool, pool.y.h).first,
            last_row = windows_over(tile.row + tile.height - 1, pool, pool.y.h).last,
            first_column = windows_over(tile.column, pool, pool.y.w).first,
            last_column = windows_over(tile.column + tile.width - 1, pool, pool.y.w).last;
  // A place in the window as its row and column.
  uint8_t down[256], right[256];
  for (int place = 0; place < 256; ++place) {
    down[place] = static_cast<uint8_t>(place / pool.window);
    right[place] = static_cast<uint8_t>(place % pool.window);
  }
  for (int i = first_row; i < last_row; ++i) {
    for (int j = first_column; j < last_column; ++j) {
      const PoolWindow w = pool.at(i, j);
      const size_t offset = pixel_offset(pool.y, tile.image, i, j) + tile.channel;
      for (int c = 0; c < tile.channels; ++c) {
        const int place = argmax[offset + c];
        const int row = w.top + down[place] - tile.row, column = w.left + right[place] - tile.column;
        const bool inside = row >= 0 && row < tile.height && column >= 0 && column < tile.width;
        if (inside) tile.sum[row * tile.width + column][c] += widen(dy[offset + c]);
      }
    }
  }
}

template <typename T>
void scatter_tile(const PoolGeometry& pool, const T* dy, const uint8_t* argmax, ScatterTile& tile, T* dx,
                  bool accumulate) {
  const int pixels = tile.height * tile.width;
  const auto at = [&](int pixel) {
    return dx + tile.channel +
           pixel_offset(pool.x, tile.image, tile.row + pixel / tile.width, tile.column + pixel % tile.width);
  };
  for (int p = 0; p < pixels; ++p) {
    const T* from = at(p);
#pragma omp simd
    for (int c = 0; c < tile.channels; ++c) tile.sum[p][c] = accumulate ? widen(from[c]) : 0.0f;
  }
  scatter(pool, dy, argmax, tile);
  for (int p = 0; p < pixels; ++p) {
    T* to = at(p);
#pragma omp simd
    for (int c = 0; c < tile.channels; ++c) store(to[c], tile.sum[p][c]);
  }
}

template <typename T>
void scatter_all(const PoolGeometry& pool, const T* dy, const uint8_t* argmax, T* dx, bool accumulate) {
  const int width = std::min(pool.x.w, scatter_pixels), height = std::min(pool.x.h, scatter_pixels / width);
  const int down = (pool.x.h + height - 1) / height, across = (pool.x.w + width - 1) / width,
            blocks = (pool.x.c + scatter_channels - 1) / scatter_channels;
  const size_t tiles = static_cast<size_t>(pool.x.n) * blocks * down * across;
  const size_t bytes = pool.x.count() / tiles * (3 * sizeof(T) + 1);
  parallel_items(tiles, bytes, [&](size_t begin, size_t end) {
    ScatterTile tile;
    for (size_t i = begin; i < end; ++i) {
      const int index = static_cast<int>(i);
      tile.image = index / across / down / blocks;
      tile.row = index / across % down * height;
      tile.height = std::min(height, pool.x.h - tile.row);
      tile.column = index % across * width;
      tile.width = std::min(width, pool.x.w - tile.column);
      tile.channel = index / across / down % blocks * scatter_channels;
      tile.channels = std::min(scatter_channels, pool.x.c - tile.channel);
      scatter_tile(pool, dy, argmax, tile, dx, accumulate);
    }
  });
}

}  // namespace

void CpuBackend::max_pool_backward(const PoolSpec& pool, const Tensor& dy, const Tensor& argmax,
                                   const Tensor& dx, bool accumulate) {
  const PoolGeometry geometry(pool, dx.shape, dy.shape);
  BRIGHTNET_CHECK(dx.type == dy.type && argmax.type == DType::u8 && argmax.shape == dy.shape,
                  "max-pool gradient between types, or an argmax that is not u8 of the output's shape");
  const int coverings = (pool.window + pool.stride - 1) / pool.stride;
  with_compute_type(dx.type, [&]<typename T>() {
    const T* from = dy.as<T>();
    T* to = dx.as<T>();
    const uint8_t* winners = argmax.as<uint8_t>();
    if (coverings > 3) return scatter_all(geometry, from, winners, to, accumulate);
    const size_t rows = static_cast<size_t>(dx.shape.n) * dx.shape.h;
    const size_t bytes = (dx.count() + dy.count()) / rows * sizeof(T);
    parallel_items(rows, bytes, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        gather_row(geometry, from, winners, static_cast<int>(i) / dx.shape.h,
                   static_cast<int>(i) % dx.shape.h, to, accumulate);
      }
    });
  });
}

}  // namespace brightnet::cpu
