// The maximum over a square is the maximum over columns of the maxima over rows, and a maximum over k + d
// elements is that of two overlapping runs of k (d ≤ k): doubling reaches 13 in four comparisons a direction
// (1, 2, 4, 8, 13), eight per element instead of 168. The winner's position is tracked along the way and is
// the first in row-major order: of equal runs the left (upper) one wins, with the first winner of that run,
// and maxima within rows are taken before those over columns.
//
// Outputs are computed one tile at a time in a stack buffer with the tile's inputs for 16 channels; every
// step works in place, since it reads only elements that it has not yet written.
#include "kernels/cpu/max_pool_cascade.h"

#include <limits>

#include "kernels/cpu/vector_types.h"

namespace brightnet::cpu {

namespace {

constexpr int lanes = 16;
constexpr int side = 32;  ///< side of the buffer in pixels; at least window + 1
/// The distance of two rows; with a power of two a column would map to two cache sets.
constexpr int pitch = side + 1;

/// The inputs of one tile, turned into its outputs in place. Element (row, column) is the maximum of the run
/// that starts there, and its position relative to that start.
struct CascadeTile {
  alignas(64) float best[side * pitch][lanes];
  alignas(64) int32_t place[side * pitch][lanes];
};

/// Merges the run that starts at pixel `other`, whose places are `shift` further, into the one of pixel `at`.
template <bool track>
void merge(CascadeTile& tile, int at, int other, int32_t shift) {
  float* best = tile.best[at];
  const float* candidate = tile.best[other];
  int32_t* place = tile.place[at];
  const int32_t* candidate_place = tile.place[other];
#pragma omp simd
  for (int c = 0; c < lanes; ++c) {
    const bool wins = displaces(candidate[c], best[c]);
    best[c] = wins ? candidate[c] : best[c];
    if constexpr (track) place[c] = wins ? candidate_place[c] + shift : place[c];
  }
}

/// Merges runs where the one at `at` is entirely before the image, so that the other always wins.
template <bool track>
void replace(CascadeTile& tile, int at, int other, int32_t shift) {
  for (int c = 0; c < lanes; ++c) {
    tile.best[at][c] = tile.best[other][c];
    if constexpr (track) tile.place[at][c] = tile.place[other][c] + shift;
  }
}

/// Turns runs of one element into runs of `window` along one direction: over `length` elements `step` pixels
/// apart, beginning at `first`, of which the first `outside` are before the image.
template <bool track>
void cascade(CascadeTile& tile, int first, int step, int length, int window, int outside,
             int32_t place_step) {
  for (int run = 1; run < window;) {
    const int more = std::min(run, window - run);
    for (int i = 0; i + run + more <= length; ++i) {
      const int at = first + i * step, other = at + more * step;
      if (i + run <= outside) {
        replace<track>(tile, at, other, more * place_step);
      } else {
        merge<track>(tile, at, other, more * place_step);
      }
    }
    run += more;
  }
}

/// One tile of outputs: rows [row, row + height), columns [column, column + width) of an image, channels
/// [channel, channel + channels).
struct TilePlace {
  int image = 0, row = 0, column = 0, height = 0, width = 0, channel = 0, channels = 0;
};

template <typename T>
void load(const PoolGeometry& pool, const T* x, const TilePlace& place, CascadeTile& tile) {
  const int rows = place.height + pool.window - 1, columns = place.width + pool.window - 1;
  for (int i = 0; i < rows; ++i) {
    const int row = place.row - pool.before + i;
    for (int j = 0; j < columns; ++j) {
      const int column = place.column - pool.before + j;
      float* best = tile.best[i * pitch + j];
      std::fill_n(tile.place[i * pitch + j], lanes, 0);
      const bool inside = row >= 0 && row < pool.x.h && column >= 0 && column < pool.x.w;
      if (!inside || place.channels < lanes)
        std::fill_n(best, lanes, -std::numeric_limits<float>::infinity());
      if (!inside) continue;
      const T* pixel = x + pixel_offset(pool.x, place.image, row, column) + place.channel;
      if (place.channels == lanes) {
#pragma omp simd
        for (int c = 0; c < lanes; ++c) best[c] = widen(pixel[c]);
      } else {
        for (int c = 0; c < place.channels; ++c) best[c] = widen(pixel[c]);
      }
    }
  }
}

template <typename T>
void store(const PoolGeometry& pool, const CascadeTile& tile, const TilePlace& place, T* y, uint8_t* argmax) {
  for (int i = 0; i < place.height; ++i) {
    for (int j = 0; j < place.width; ++j) {
      const size_t offset = pixel_offset(pool.y, place.image, place.row + i, place.column + j) +
                            static_cast<size_t>(place.channel);
      const float* best = tile.best[i * pitch + j];
      const int32_t* won = tile.place[i * pitch + j];
#pragma omp simd
      for (int c = 0; c < place.channels; ++c) store_exact(y[offset + c], best[c]);
      if (argmax == nullptr) continue;
#pragma omp simd
      for (int c = 0; c < place.channels; ++c) argmax[offset + c] = static_cast<uint8_t>(won[c]);
    }
  }
}

template <bool track, typename T>
void pool_tile(const PoolGeometry& pool, const T* x, const TilePlace& place, T* y, uint8_t* argmax) {
  CascadeTile tile;
  load(pool, x, place, tile);
  const int rows = place.height + pool.window - 1, columns = place.width + pool.window - 1;
  const int left = std::max(0, pool.before - place.column), above = std::max(0, pool.before - place.row);
  const int last_row = std::min(rows, pool.x.h + pool.before - place.row);  // rows outside stay −∞ as loaded
  for (int i = above; i < last_row; ++i) cascade<track>(tile, i * pitch, 1, columns, pool.window, left, 1);
  for (int j = 0; j < place.width; ++j) cascade<track>(tile, j, pitch, rows, pool.window, above, pool.window);
  store(pool, tile, place, y, argmax);
}

}  // namespace

template <typename T>
void max_pool_cascade(const PoolGeometry& pool, const T* x, T* y, uint8_t* argmax) {
  // Equal tiles: 19 outputs in two tiles are 10 + 9, not 18 + 1.
  const int most = side - pool.window + 1;
  const int down = (pool.y.h + most - 1) / most, across = (pool.y.w + most - 1) / most;
  const int blocks = (pool.y.c + lanes - 1) / lanes;
  const size_t tiles = static_cast<size_t>(pool.y.n) * blocks * down * across;
  const size_t bytes = pool.y.count() / tiles * (2 * sizeof(T) + 1);
  parallel_items(tiles, bytes, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const int index = static_cast<int>(i);
      const int j = index % across, k = index / across % down, block = index / across / down % blocks;
      TilePlace place;
      place.image = index / across / down / blocks;
      place.row = pool.y.h * k / down;
      place.height = pool.y.h * (k + 1) / down - place.row;
      place.column = pool.y.w * j / across;
      place.width = pool.y.w * (j + 1) / across - place.column;
      place.channel = block * lanes;
      place.channels = std::min(lanes, pool.y.c - place.channel);
      if (argmax != nullptr) {
        pool_tile<true>(pool, x, place, y, argmax);
      } else {
        pool_tile<false>(pool, x, place, y, argmax);
      }
    }
  });
}

template void max_pool_cascade(const PoolGeometry&, const float*, float*, uint8_t*);
template void max_pool_cascade(const PoolGeometry&, const BFloat16*, BFloat16*, uint8_t*);
template void max_pool_cascade(const PoolGeometry&, const uint8_t*, uint8_t*, uint8_t*);

}  // namespace brightnet::cpu
