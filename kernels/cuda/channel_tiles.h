// How a tensor is divided among threads for work on channels: a thread holds one vector of channels for all of its
// pixels, so that per-channel values (shifts, scales, sums) stay in registers. Neighbouring threads take
// neighbouring vectors, up to 32 of them; the block's other threads take further pixels.
#pragma once

#include <algorithm>

#include "kernels/cuda/channel_vectors.h"

namespace brightnet::cuda {

constexpr int channel_threads = 256;
constexpr int most_columns = 32;             ///< vectors of channels that a block works on
constexpr int widest_vector = 8;             ///< elements of a vector, at most
constexpr int blocks_of_multiprocessor = 4;  ///< blocks a multiprocessor, at most, for partial sums
constexpr int most_multiprocessors = 192;    ///< multiprocessors that a grid is made for, at most
constexpr int fewest_pixels_of_thread = 8;   ///< fewer would not be worth a row of partial sums
constexpr int group_chunks = 32;             ///< chunks whose partial sums one block adds
constexpr int most_groups = most_multiprocessors * blocks_of_multiprocessor / group_chunks;

/// Minimum resident blocks per multiprocessor for a kernel's launch bounds, which limit its registers.
/// Compute capability 7.5 holds 1024 threads.
constexpr int resident(int blocks) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  return blocks < 1024 / channel_threads ? blocks : 1024 / channel_threads;
#else
  return blocks;
#endif
}

/// How a tensor is divided: blockIdx.y chooses vectors of channels, blockIdx.x and the thread's row pixels.
struct ChannelTiles {
  size_t pixels = 0;
  int channels = 0, columns = 0, rows = 0;
  int across = 0, chunks = 0;  ///< the grid in y and in x
  int groups = 0;              ///< groups of chunks whose sums are added first

  ChannelTiles() = default;
  ChannelTiles(const Shape& shape, int count, int blocks_a_multiprocessor)
      : pixels(shape.pixels()), channels(shape.c) {
    BRIGHTNET_CHECK(pixels <= 0x7fffffffu, "a tensor of more than 2^31 pixels");
    item_count(pixels, channels, count);
    const int vectors = shape.c / count;
    columns = std::min(vectors, most_columns);
    rows = channel_threads / columns;
    across = (vectors + columns - 1) / columns;
    const size_t useful = (pixels + static_cast<size_t>(rows) * fewest_pixels_of_thread - 1) /
                          (static_cast<size_t>(rows) * fewest_pixels_of_thread);
    const int blocks = std::min(multiprocessors(), most_multiprocessors) * blocks_a_multiprocessor;
    chunks = static_cast<int>(std::clamp<size_t>(blocks / across, 1, std::max<size_t>(useful, 1)));
    groups = (chunks + group_chunks - 1) / group_chunks;
  }
  dim3 grid() const { return dim3(static_cast<unsigned>(chunks), static_cast<unsigned>(across)); }
  /// The size of the partial sums that the grid writes (kernels/cuda/channel_sums.h).
  size_t part_bytes() const { return static_cast<size_t>(chunks) * channels * sizeof(float2); }
};

/// Elements from one pixel of a tensor to the next, in 32 bits; offsets are counted in vectors of `count`.
inline unsigned pixel_stride(const Tensor& tensor, int count) {
  const size_t stride = tensor.pixel_stride();
  item_count(tensor.shape.pixels(), static_cast<int>(stride), count);
  return static_cast<unsigned>(stride);
}

#ifdef BRIGHTNET_KERNELS

/// The thread's first channel and its pixels: first, first + step, ... below `pixels`.
struct ChannelPlace {
  int channel;
  unsigned first, step, pixels;  ///< 32 bits: 64-bit numbers take registers and instructions

  template <int count>
  __device__ static ChannelPlace of_thread(const ChannelTiles& tiles) {
    const int thread = static_cast<int>(threadIdx.x), column = thread % tiles.columns,
              row = thread / tiles.columns;
    const int channel = (static_cast<int>(blockIdx.y) * tiles.columns + column) * count;
    const bool active = row < tiles.rows && channel < tiles.channels;
    const unsigned rows = static_cast<unsigned>(tiles.rows);
    return {channel, blockIdx.x * rows + row, gridDim.x * rows,
            active ? static_cast<unsigned>(tiles.pixels) : 0};
  }

  /// The j-th of the thread's pixels from `pixel` on, if it has that many; else `pixel` itself, so that loads
  /// need no branch.
  __device__ bool has(unsigned pixel, unsigned j) const { return pixel + j * step < pixels; }
  __device__ unsigned own(unsigned pixel, unsigned j) const {
    return has(pixel, j) ? pixel + j * step : pixel;
  }

  /// Offset of the thread's vector of a pixel in a tensor with this pixel stride.
  template <int count>
  __device__ size_t at(unsigned pixel, unsigned stride) const {
    return static_cast<size_t>(pixel * (stride / count) + static_cast<unsigned>(channel) / count) * count;
  }
};

#endif

}  // namespace brightnet::cuda
