// Forward reads x and writes y and, in training, the position of each maximum in its window (one byte per
// element): a thread takes a vector of channels of one output. Overlapping windows read their common elements
// from the cache.
//
// Backward reads dy and the positions, and writes dx. Where windows do not overlap, a thread takes a vector
// of one output and writes its whole window; where they do, it takes one input and gathers from the windows
// that contain it, which needs no atomics and adds in a fixed order.
//
// Large windows at stride 1 would read each element window² times; spatial_pyramid.cu handles them.
#include <algorithm>
#include <cmath>

#include "kernels/cuda/channel_vectors.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/max_pool_window.h"
#include "kernels/cuda/spatial_pyramid.h"

namespace brightnet::cuda {
namespace {

/// The place of an output, from its number among all.
struct OutputPlace {
  size_t image;
  int row, column;

  __device__ OutputPlace(const PoolGeometry& pool, unsigned pixel) {
    const unsigned row_of_all = pixel / static_cast<unsigned>(pool.out_width),
                   of_image = row_of_all / static_cast<unsigned>(pool.out_height);
    image = of_image;
    row = static_cast<int>(row_of_all - of_image * pool.out_height);
    column = static_cast<int>(pixel - row_of_all * pool.out_width);
  }
};

template <typename T, int count>
__device__ void store_pooled(T* y, uint8_t* argmax, size_t at, const float (&best)[count],
                             const int (&winner)[count]) {
  store_floats<count>(y + at, best);
  if (argmax == nullptr) return;
  Vector<uint8_t, count> places;
#pragma unroll
  for (int k = 0; k < count; ++k) places.element[k] = static_cast<uint8_t>(winner[k]);
  store_once<count>(argmax + at, places);  // for the backward pass
}

template <typename T, int count>
struct PoolVector {
  static constexpr int width = count;
  PoolGeometry pool;
  const T* x;
  T* y;
  uint8_t* argmax;

  __device__ void operator()(unsigned pixel, unsigned channel) const {
    const OutputPlace place(pool, pixel);
    const int top = place.row * pool.stride - pool.before, left = place.column * pool.stride - pool.before;
    const T* plane = x + place.image * pool.height * pool.width * pool.channels + channel;
    float best[count] = {}, candidates[count];
    int winner[count] = {};
    bool first = true;
    for (int i = top < 0 ? -top : 0; i < pool.window && top + i < pool.height; ++i) {
      for (int j = left < 0 ? -left : 0; j < pool.window && left + j < pool.width; ++j) {
        load_floats<count>(plane + (static_cast<size_t>(top + i) * pool.width + left + j) * pool.channels,
                           candidates);
        const int number = i * pool.window + j;
#pragma unroll
        for (int k = 0; k < count; ++k) {
          const bool wins = first || displaces(candidates[k], best[k]);
          best[k] = wins ? candidates[k] : best[k];
          winner[k] = wins ? number : winner[k];
        }
        first = false;
      }
    }
    store_pooled(y, argmax, static_cast<size_t>(pixel) * pool.channels + channel, best, winner);
  }
};

/// PoolVector for windows of 2 × 2: all four loads are in flight before the first is used.
template <typename T, int count>
struct PoolSquareVector {
  static constexpr int width = count;
  PoolGeometry pool;
  const T* x;
  T* y;
  uint8_t* argmax;

  __device__ void operator()(unsigned pixel, unsigned channel) const {
    const OutputPlace place(pool, pixel);
    const int top = place.row * pool.stride - pool.before, left = place.column * pool.stride - pool.before;
    const T* plane = x + place.image * pool.height * pool.width * pool.channels + channel;
    Vector<T, count> elements[4];
    bool inside[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = top + i / 2, column = left + i % 2;
      inside[i] = row >= 0 && row < pool.height && column >= 0 && column < pool.width;
      const int safe = inside[i] ? row * pool.width + column : 0;
      elements[i] = load<count>(plane + static_cast<size_t>(safe) * pool.channels);
    }
    const int first = inside[0] ? 0 : inside[1] ? 1 : inside[2] ? 2 : 3;  // wins where all are -∞
    float best[count];
    int winner[count];
#pragma unroll
    for (int k = 0; k < count; ++k) best[k] = -INFINITY, winner[k] = first;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int k = 0; k < count; ++k) {
        const float candidate = inside[i] ? widen(elements[i].element[k]) : -INFINITY;
        const bool wins = displaces(candidate, best[k]);
        best[k] = wins ? candidate : best[k];
        winner[k] = wins ? i : winner[k];
      }
    }
    store_pooled(y, argmax, static_cast<size_t>(pixel) * pool.channels + channel, best, winner);
  }
};

template <typename T, int count>
struct GatherVector {
  static constexpr int width = count;
  PoolGeometry pool;
  const T* dy;
  const uint8_t* argmax;
  T* dx;
  bool accumulate;

  /// The first and the last output + 1 whose windows contain input coordinate i.
  __device__ int first_window(int i) const {
    const int past = i + pool.before - pool.window;
    return past < 0 ? 0 : past / pool.stride + 1;
  }
  __device__ int last_window(int i, int outputs) const {
    const int last = (i + pool.before) / pool.stride + 1;
    return last < outputs ? last : outputs;
  }

  __device__ void operator()(unsigned pixel, unsigned channel) const {
    const int row_of_all = static_cast<int>(pixel / pool.width),
              column = static_cast<int>(pixel % pool.width);
    const int image = row_of_all / pool.height, row = row_of_all - image * pool.height;
    T* to = dx + static_cast<size_t>(pixel) * pool.channels + channel;
    float sum[count] = {}, gradient[count];
    if (accumulate) load_floats<count>(to, sum);
    const int last_row = last_window(row, pool.out_height), last_column = last_window(column, pool.out_width);
    for (int i = first_window(row); i < last_row; ++i) {
      for (int j = first_window(column); j < last_column; ++j) {
        const size_t at =
            ((static_cast<size_t>(image) * pool.out_height + i) * pool.out_width + j) * pool.channels +
            channel;
        const int number =
            (row - i * pool.stride + pool.before) * pool.window + column - j * pool.stride + pool.before;
        const Vector<uint8_t, count> winner = load<count>(argmax + at);
        load_floats<count>(dy + at, gradient);
#pragma unroll
        for (int k = 0; k < count; ++k) sum[k] += winner.element[k] == number ? gradient[k] : 0.0f;
      }
    }
    store_floats<count>(to, sum);
  }
};

/// Backward for windows that do not overlap: a thread takes one output and writes all inputs of its window,
/// and the remaining ones at the edges.
template <typename T, int count>
struct ScatterVector {
  static constexpr int width = count;
  PoolGeometry pool;
  const T* dy;
  const uint8_t* argmax;
  T* dx;
  bool accumulate;

  __device__ void operator()(unsigned pixel, unsigned channel) const {
    const OutputPlace place(pool, pixel);
    const int top = place.row * pool.stride, left = place.column * pool.stride;
    const int bottom = place.row + 1 < pool.out_height ? top + pool.stride : pool.height;
    const int right = place.column + 1 < pool.out_width ? left + pool.stride : pool.width;
    const size_t at = static_cast<size_t>(pixel) * pool.channels + channel;
    const Vector<uint8_t, count> winner = load<count>(argmax + at);
    float gradient[count];
    load_floats<count>(dy + at, gradient);
    T* line = dx + ((place.image * pool.height + top) * pool.width + left) * pool.channels + channel;
    for (int i = 0; i < bottom - top; ++i, line += static_cast<size_t>(pool.width) * pool.channels) {
      T* to = line;
      for (int j = 0; j < right - left; ++j, to += pool.channels) {
        const int number = i < pool.window && j < pool.window ? i * pool.window + j : -1;
        float sum[count] = {};
        if (accumulate) load_floats<count>(to, sum);
#pragma unroll
        for (int k = 0; k < count; ++k) sum[k] += winner.element[k] == number ? gradient[k] : 0.0f;
        store_floats<count>(to, sum);
      }
    }
  }
};

/// Coordinates of one side of the input that some window covers: all, unless the stride leaves gaps.
size_t covered(int side, int outputs, const PoolGeometry& pool) {
  size_t count = 0;
  int end = 0;  // the end of what is counted
  for (int i = 0; i < outputs; ++i) {
    const int from = std::max(end, i * pool.stride - pool.before);
    end = std::max(end, std::min(side, i * pool.stride - pool.before + pool.window));
    count += static_cast<size_t>(std::max(0, end - from));
  }
  return count;
}
size_t covered_pixels(const PoolGeometry& pool) {
  return covered(pool.height, pool.out_height, pool) * covered(pool.width, pool.out_width, pool);
}

bool is_large(const PoolSpec& pool) {
  return pool.stride == 1 && pool.window > 3;
}

}  // namespace

void CudaBackend::max_pool_forward(const PoolSpec& pool, const Tensor& x, const Tensor& y,
                                   const Tensor& argmax) {
  const PoolGeometry geometry(pool, x.shape, y.shape);
  BRIGHTNET_CHECK(x.type == y.type, "max-pool between types");
  BRIGHTNET_CHECK(!argmax || (argmax.type == DType::u8 && argmax.shape == y.shape),
                  "argmax is u8 and of the output's shape");
  if (is_large(pool)) return pool_large_windows({&pool, 1}, x, y, {&argmax, 1}, stream());
  const Traffic traffic{covered_pixels(geometry) * x.shape.n * x.shape.c * size_of(x.type),
                        y.bytes() + (argmax ? argmax.bytes() : 0)};
  with_compute_type(x.type, [&]<typename T>() {
    const auto run = [&]<int count>() {
      uint8_t* winners = argmax ? argmax.as<uint8_t>() : nullptr;
      if (pool.window == 2) {
        for_each_channel_vector(y.shape.pixels(), y.shape.c,
                                PoolSquareVector<T, count>{geometry, x.as<T>(), y.as<T>(), winners}, stream(),
                                traffic);
        return;
      }
      for_each_channel_vector(y.shape.pixels(), y.shape.c,
                              PoolVector<T, count>{geometry, x.as<T>(), y.as<T>(), winners}, stream(),
                              traffic);
    };
    const bool vectors = channels_fill_vectors({x, y}) && aligned_for_vectors({argmax.data});
    vectors ? run.template operator()<whole_vector<T>>() : run.template operator()<1>();
  });
}

void CudaBackend::max_pool_backward(const PoolSpec& pool, const Tensor& dy, const Tensor& argmax,
                                    const Tensor& dx, bool accumulate) {
  const PoolGeometry geometry(pool, dx.shape, dy.shape);
  BRIGHTNET_CHECK(dx.type == dy.type, "max-pool between types");
  BRIGHTNET_CHECK(argmax.type == DType::u8 && argmax.shape == dy.shape,
                  "argmax is u8 and of the output's shape");
  if (is_large(pool))
    return scatter_large_windows({&pool, 1}, dy, {&argmax, 1}, dx, accumulate, false, stream());
  const Traffic traffic{dy.bytes() + argmax.bytes() + (accumulate ? dx.bytes() : 0), dx.bytes()};
  with_compute_type(dx.type, [&]<typename T>() {
    const auto run = [&]<int count>() {
      if (pool.window == pool.stride && geometry.before == 0) {
        for_each_channel_vector(
            dy.shape.pixels(), dy.shape.c,
            ScatterVector<T, count>{geometry, dy.as<T>(), argmax.as<uint8_t>(), dx.as<T>(), accumulate},
            stream(), traffic);
        return;
      }
      for_each_channel_vector(
          dx.shape.pixels(), dx.shape.c,
          GatherVector<T, count>{geometry, dy.as<T>(), argmax.as<uint8_t>(), dx.as<T>(), accumulate},
          stream(), traffic);
    };
    const bool vectors = channels_fill_vectors({dx, dy}) && aligned_for_vectors({argmax.data});
    vectors ? run.template operator()<whole_vector<T>>() : run.template operator()<1>();
  });
}

}  // namespace brightnet::cuda
