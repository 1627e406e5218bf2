// Forward reads x once and writes every pool and the winners' places: with SPP's three windows (1 + 4) · size
// bytes and 3 bytes an element. A block holds a tile of a few channels (one 32-byte sector a pixel; the whole
// plane at YOLO's sizes) in shared memory. The maximum over a square is the maximum over rows of the maxima
// within rows: 27 + 27 elements read for windows of 5, 9 and 13 instead of 275. Its winner is the first in
// row-major order, since of equal elements the left one stays within a row and the upper one between rows.
//
// Backward reads dy and the places once and writes dx. Gathering would look at all 275 windows over an
// element. Instead the block keeps fp32 sums of a tile of dx in shared memory, and adds every dy to its winner. Each of
// its warps has some rows of the tile, a channel a thread, and looks at all outputs whose windows touch them, which are
// in the L1 cache for the other warps: a thread writes nothing but its own rows of its own channel, so there are no
// atomics, and the order of the additions never changes.
#include <algorithm>
#include <vector>

#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/max_pool_window.h"
#include "kernels/cuda/spatial_pyramid.h"

namespace brightnet::cuda {
namespace {

constexpr int most_pools = 4;  ///< pools of one launch; further ones take another
constexpr size_t shared_bytes_of_block = 48 << 10;
constexpr int pool_threads = 256;

/// One pool: what its windows cover, and where its results lie.
template <typename T>
struct Pool {
  int window, before, inverse;  ///< inverse: 2¹⁶ / window rounded up, to divide a place by the window
  T* y;
  uint8_t* argmax;
};

/// A rectangle of pixels.
struct Tile {
  int row, column, height, width;
};

/// The tiles that a plane is cut into: whole where it fits.
struct Tiling {
  int height, width, across, count;

  Tiling(int rows, int columns, int tile_height, int tile_width)
      : height(tile_height), width(tile_width), across((columns + tile_width - 1) / tile_width) {
    count = across * ((rows + tile_height - 1) / tile_height);
  }
  __device__ Tile at(int index, int rows, int columns) const {
    Tile tile{index / across * height, index % across * width, height, width};
    if (tile.row + tile.height > rows) tile.height = rows - tile.row;
    if (tile.column + tile.width > columns) tile.width = columns - tile.column;
    return tile;
  }
};

template <typename T>
struct ForwardArguments {
  const T* x;
  T* x_copy;  ///< nullptr: x is not wanted in y
  Pool<T> pools[most_pools];
  int pool_count;
  int height, width, out_height, out_width, channels;
  size_t y_stride;
  int before, after;  ///< how far the largest window reaches to both sides
  Tiling tiling;
};

/// Channels of a block: a sector of every pixel.
template <typename T>
constexpr int pool_lanes = static_cast<int>(32 / sizeof(T));

/// The maximum of `length` elements that lie `step` apart, and which it is.
template <typename T>
__device__ __forceinline__ float best_of(const T* first, int step, int length, int& winner) {
  float best = widen(first[0]);
  winner = 0;
  for (int i = 1; i < length; ++i) {
    const float candidate = widen(first[i * step]);
    if (displaces(candidate, best)) {
      best = candidate;
      winner = i;
    }
  }
  return best;
}

template <typename T>
__global__ void __launch_bounds__(pool_threads) pyramid_forward_kernel(ForwardArguments<T> a) {
  constexpr int lanes = pool_lanes<T>, slots = pool_threads / lanes;
  const int lane = static_cast<int>(threadIdx.x) % lanes, slot = static_cast<int>(threadIdx.x) / lanes;
  const int channel = static_cast<int>(blockIdx.y) * lanes + lane;
  const bool active = channel < a.channels;
  const size_t image = blockIdx.z;
  const Tile out = a.tiling.at(static_cast<int>(blockIdx.x), a.out_height, a.out_width);

  // The part of x that the tile's windows cover.
  const int top = max(out.row - a.before, 0), left = max(out.column - a.before, 0);
  const int height = min(out.row + out.height + a.after, a.height) - top,
            width = min(out.column + out.width + a.after, a.width) - left;
  T* const input = dynamic_shared<T>();              // [height][width][lanes]
  T* const of_row = input + height * width * lanes;  // [height][out.width][lanes]: maxima within rows
  auto* const column_won = reinterpret_cast<uint8_t*>(of_row + height * out.width * lanes);

  for (int p = slot; p < height * width; p += slots) {
    const size_t pixel = (image * a.height + top + p / width) * a.width + left + p % width;
    input[p * lanes + lane] = active ? a.x[pixel * a.channels + channel] : narrow<T>(0.0f);
  }
  __syncthreads();
  if (a.x_copy && active) {
    for (int p = slot; p < out.height * out.width; p += slots) {
      const int row = out.row + p / out.width, column = out.column + p % out.width;
      a.x_copy[((image * a.out_height + row) * a.out_width + column) * a.y_stride + channel] =
          input[((row - top) * width + column - left) * lanes + lane];
    }
  }
  for (int k = 0; k < a.pool_count; ++k) {
    const Pool<T>& pool = a.pools[k];
    for (int p = slot; p < height * out.width; p += slots) {
      const int row = p / out.width, begin = out.column + p % out.width - pool.before;
      const int from = max(begin, left), to = min(begin + pool.window, left + width);
      int winner = 0;
      const float best =
          best_of(input + (row * width + from - left) * lanes + lane, lanes, to - from, winner);
      of_row[p * lanes + lane] = narrow<T>(best);
      column_won[p * lanes + lane] = static_cast<uint8_t>(from - begin + winner);
    }
    __syncthreads();
    for (int p = slot; p < out.height * out.width && active; p += slots) {
      const int row = out.row + p / out.width, column = p % out.width, begin = row - pool.before;
      const int from = max(begin, top), to = min(begin + pool.window, top + height);
      const int first = ((from - top) * out.width + column) * lanes + lane;
      int winner = 0;
      const float best = best_of(of_row + first, out.width * lanes, to - from, winner);
      const size_t pixel = (image * a.out_height + row) * a.out_width + out.column + column;
      pool.y[pixel * a.y_stride + channel] = narrow<T>(best);
      if (pool.argmax) {
        const int place =
            (from - begin + winner) * pool.window + column_won[first + winner * out.width * lanes];
        pool.argmax[pixel * a.channels + channel] = static_cast<uint8_t>(place);
      }
    }
    __syncthreads();
  }
}

template <typename T>
struct BackwardArguments {
  T* dx;
  const T* dx_part;  ///< the part of dy that belongs to x itself; nullptr: none
  Pool<const T> pools[most_pools];
  int pool_count;
  int height, width, out_height, out_width, channels;
  size_t dy_stride;
  bool accumulate;
  Tiling tiling;
};

constexpr int scatter_lanes = warp_size;  ///< threads of a warp, a channel each
constexpr int scatter_warps = 8;          ///< warps of a block, some rows each
/// 384: a channel's sums of so many pixels fill the shared memory.
constexpr int scatter_pixels = static_cast<int>(shared_bytes_of_block / sizeof(float) / scatter_lanes);
/// Elements that are read before the first is used.
constexpr int scatter_batch = 8;

template <typename T>
__global__ void __launch_bounds__(scatter_lanes* scatter_warps)
    pyramid_backward_kernel(BackwardArguments<T> a) {
  const int lane = static_cast<int>(threadIdx.x) % scatter_lanes,
            warp = static_cast<int>(threadIdx.x) / scatter_lanes,
            channel = static_cast<int>(blockIdx.y) * scatter_lanes + lane;
  const size_t image = blockIdx.z;
  const Tile of_block = a.tiling.at(static_cast<int>(blockIdx.x), a.height, a.width);
  const int rows = (of_block.height + scatter_warps - 1) / scatter_warps, first = warp * rows;
  if (channel >= a.channels || first >= of_block.height) return;
  const Tile tile{of_block.row + first, of_block.column, min(rows, of_block.height - first), of_block.width};
  // [tile.height][tile.width][lanes]
  float* const sums = dynamic_shared<float>() + first * tile.width * scatter_lanes + lane;
  const auto pixel_of = [&](int p) {
    return (image * a.height + tile.row + p / tile.width) * a.width + tile.column + p % tile.width;
  };
  const int pixels = tile.height * tile.width;
  for (int begin = 0; begin < pixels; begin += scatter_batch) {
    float sum[scatter_batch];
#pragma unroll
    for (int i = 0; i < scatter_batch; ++i) {
      const size_t pixel = pixel_of(min(begin + i, pixels - 1));
      sum[i] = a.accumulate ? widen(a.dx[pixel * a.channels + channel]) : 0.0f;
      if (a.dx_part) sum[i] += widen(a.dx_part[pixel * a.dy_stride + channel]);
    }
#pragma unroll
    for (int i = 0; i < scatter_batch; ++i) {
      if (begin + i < pixels) sums[(begin + i) * scatter_lanes] = sum[i];
    }
  }
  for (int k = 0; k < a.pool_count; ++k) {
    const Pool<const T>& pool = a.pools[k];
    // The outputs whose windows touch the tile.
    const int top = max(tile.row + pool.before - pool.window + 1, 0),
              left = max(tile.column + pool.before - pool.window + 1, 0);
    const int height = min(tile.row + tile.height + pool.before, a.out_height) - top,
              width = min(tile.column + tile.width + pool.before, a.out_width) - left;
    for (int begin = 0; begin < height * width; begin += scatter_batch) {
      float gradient[scatter_batch];
      int place[scatter_batch];
#pragma unroll
      for (int i = 0; i < scatter_batch; ++i) {
        const int p = min(begin + i, height * width - 1);
        const size_t pixel = (image * a.out_height + top + p / width) * a.out_width + left + p % width;
        gradient[i] = widen(pool.y[pixel * a.dy_stride + channel]);
        place[i] = pool.argmax[pixel * a.channels + channel];
      }
#pragma unroll
      for (int i = 0; i < scatter_batch; ++i) {
        const int p = begin + i, down = place[i] * pool.inverse >> 16;
        const int row = top + p / width - pool.before + down - tile.row,
                  column = left + p % width - pool.before + place[i] - down * pool.window - tile.column;
        const bool inside =
            p < height * width && row >= 0 && row < tile.height && column >= 0 && column < tile.width;
        if (inside) sums[(row * tile.width + column) * scatter_lanes] += gradient[i];
      }
    }
  }
  for (int p = 0; p < pixels; ++p)
    a.dx[pixel_of(p) * a.channels + channel] = narrow<T>(sums[p * scatter_lanes]);
}

/// The pools of one launch, [first, first + count).
template <typename T>
void fill_pools(std::span<const PoolSpec> pools, size_t first, int count, T* y, int channels,
                std::span<const Tensor> argmax, Pool<T>* filled) {
  for (int i = 0; i < count; ++i) {
    const PoolSpec& pool = pools[first + i];
    const bool wanted = !argmax.empty() && argmax[first + i];
    filled[i] = {pool.window, pool.padding / 2, (65536 + pool.window - 1) / pool.window,
                 y + (first + i) * static_cast<size_t>(channels),
                 wanted ? argmax[first + i].template as<uint8_t>() : nullptr};
  }
}

void check_pools(std::span<const PoolSpec> pools, const Tensor& x, const Tensor& y, bool with_input) {
  const int parts = static_cast<int>(pools.size()) + (with_input ? 1 : 0);
  Shape one = y.shape;
  one.c /= parts;
  BRIGHTNET_CHECK(y.shape.c == parts * x.shape.c && x.type == y.type, "a pyramid between unlike tensors");
  for (const PoolSpec& pool : pools) {
    BRIGHTNET_CHECK(pool.stride == 1, "a pyramid's pools have stride 1");
    const PoolGeometry checked(pool, x.shape, one);
  }
}

template <typename T>
void run_forward(std::span<const PoolSpec> pools, size_t first, int count, bool with_input, const Tensor& x,
                 const Tensor& y, std::span<const Tensor> argmax, cudaStream_t stream) {
  const Shape& s = x.shape;
  constexpr int lanes = pool_lanes<T>;
  int before = 0, after = 0;
  for (int i = 0; i < count; ++i) {
    const PoolSpec& pool = pools[first + i];
    before = std::max(before, pool.padding / 2);
    after = std::max(after, pool.window - 1 - pool.padding / 2);
  }
  // Bytes of an input pixel and of a row maximum with its place.
  const size_t input_bytes = lanes * sizeof(T), row_bytes = lanes * (sizeof(T) + 1);
  const auto shared = [&](int height, int width) {
    const int rows = std::min(height + before + after, s.h), columns = std::min(width + before + after, s.w);
    return static_cast<size_t>(rows) * (columns * input_bytes + width * row_bytes);
  };
  int tile_height = y.shape.h, tile_width = y.shape.w;
  while (shared(tile_height, tile_width) > shared_bytes_of_block) {
    int& longer = tile_height > tile_width ? tile_height : tile_width;
    longer = (longer + 1) / 2;
  }
  ForwardArguments<T> a{x.as<T>(),
                        with_input ? y.as<T>() + pools.size() * static_cast<size_t>(s.c) : nullptr,
                        {},
                        count,
                        s.h,
                        s.w,
                        y.shape.h,
                        y.shape.w,
                        s.c,
                        y.pixel_stride(),
                        before,
                        after,
                        Tiling(y.shape.h, y.shape.w, tile_height, tile_width)};
  fill_pools(pools, first, count, y.as<T>(), s.c, argmax, a.pools);
  const size_t argmax_bytes = argmax.empty() || !argmax[first] ? 0 : s.c * y.shape.pixels();
  const Traffic traffic{
      x.bytes(), y.shape.pixels() * s.c * sizeof(T) * (count + (with_input ? 1 : 0)) + count * argmax_bytes};
  const Grid grid(dim3(a.tiling.count, (s.c + lanes - 1) / lanes, s.n));
  launch(pyramid_forward_kernel<T>, grid.moving(traffic), pool_threads, shared(tile_height, tile_width),
         stream, a);
}

template <typename T>
void run_backward(std::span<const PoolSpec> pools, size_t first, int count, bool with_input, const Tensor& dy,
                  std::span<const Tensor> argmax, const Tensor& dx, bool accumulate, cudaStream_t stream) {
  const Shape& s = dx.shape;
  int tile_height = s.h, tile_width = s.w;
  while (tile_height * tile_width > scatter_pixels) {
    int& longer = tile_height > tile_width ? tile_height : tile_width;
    longer = (longer + 1) / 2;
  }
  BackwardArguments<T> a{
      dx.as<T>(), with_input ? dy.as<T>() + pools.size() * static_cast<size_t>(s.c) : nullptr,
      {},         count,
      s.h,        s.w,
      dy.shape.h, dy.shape.w,
      s.c,        dy.pixel_stride(),
      accumulate, Tiling(s.h, s.w, tile_height, tile_width)};
  fill_pools<const T>(pools, first, count, dy.as<T>(), s.c, argmax, a.pools);
  const size_t shared = static_cast<size_t>(tile_height) * tile_width * scatter_lanes * sizeof(float);
  const size_t pooled = dy.shape.pixels() * s.c;
  const Traffic traffic{pooled * (sizeof(T) + 1) * count + (with_input ? pooled * sizeof(T) : 0) +
                            (accumulate ? dx.bytes() : 0),
                        dx.bytes()};
  const Grid grid(dim3(a.tiling.count, (s.c + scatter_lanes - 1) / scatter_lanes, s.n));
  launch(pyramid_backward_kernel<T>, grid.moving(traffic), scatter_lanes * scatter_warps, shared, stream, a);
}

std::vector<PoolSpec> pools_of(std::span<const int> windows) {
  std::vector<PoolSpec> pools;
  for (const int window : windows) pools.push_back({window, 1, window - 1});
  return pools;
}

}  // namespace

void pool_large_windows(std::span<const PoolSpec> pools, const Tensor& x, const Tensor& y,
                        std::span<const Tensor> argmax, cudaStream_t stream, bool with_input) {
  check_pools(pools, x, y, with_input);
  with_compute_type(x.type, [&]<typename T>() {
    for (size_t first = 0; first < pools.size(); first += most_pools) {
      const int count = static_cast<int>(std::min<size_t>(most_pools, pools.size() - first));
      run_forward<T>(pools, first, count, with_input && first == 0, x, y, argmax, stream);
    }
  });
}

void scatter_large_windows(std::span<const PoolSpec> pools, const Tensor& dy, std::span<const Tensor> argmax,
                           const Tensor& dx, bool accumulate, bool with_input, cudaStream_t stream) {
  check_pools(pools, dx, dy, with_input);
  with_compute_type(dx.type, [&]<typename T>() {
    for (size_t first = 0; first < pools.size(); first += most_pools) {
      const int count = static_cast<int>(std::min<size_t>(most_pools, pools.size() - first));
      run_backward<T>(pools, first, count, with_input && first == 0, dy, argmax, dx, accumulate || first > 0,
                      stream);
    }
  });
}

void CudaBackend::spatial_pyramid_forward(std::span<const int> windows, const Tensor& x, const Tensor& y,
                                          std::span<const Tensor> argmax, void*) {
  pool_large_windows(pools_of(windows), x, y, argmax, stream(), true);
}

void CudaBackend::spatial_pyramid_backward(std::span<const int> windows, const Tensor& dy,
                                           std::span<const Tensor> argmax, const Tensor& dx, bool accumulate,
                                           void*) {
  scatter_large_windows(pools_of(windows), dy, argmax, dx, accumulate, true, stream());
}

}  // namespace brightnet::cuda
