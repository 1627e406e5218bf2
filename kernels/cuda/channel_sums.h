// Two sums over the pixels of every channel, in two launches: blocks sum parts of the pixels, then the parts
// are added in fp64 in a fixed order, so results are the same in every run on the same GPU.
//
// A thread holds one vector of channels for all of its pixels, so that per-channel values (shifts, scales)
// stay in registers. Neighbouring threads take neighbouring vectors, up to 32 of them; the block's other
// threads take further pixels.
#pragma once

#include <algorithm>

#include "core/alignment.h"
#include "kernels/cuda/channel_vectors.h"

namespace brightnet::cuda {

constexpr int channel_threads = 256;
constexpr int most_columns = 32;             ///< vectors of channels that a block works on
constexpr int widest_vector = 8;             ///< elements of one
constexpr int blocks_of_multiprocessor = 4;  ///< at most, of a grid that writes partial sums
constexpr int most_multiprocessors = 192;    ///< of any GPU; larger ones get no larger grid
constexpr int fewest_pixels_of_thread = 8;   ///< less would not be worth a row of partial sums

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
  }
  dim3 grid() const { return dim3(static_cast<unsigned>(chunks), static_cast<unsigned>(across)); }
  /// Of the partial sums that the grid writes.
  size_t part_bytes() const { return static_cast<size_t>(chunks) * channels * sizeof(float2); }
};

/// The workspace: fp64 sums of every channel, coefficients of the next pass, and partial sums.
struct ChannelWorkspace {
  double* totals;       ///< [2][channels]
  float* coefficients;  ///< [4][channels]
  float2* parts;        ///< [chunks][channels]

  ChannelWorkspace(void* workspace, int channels)
      : totals(static_cast<double*>(workspace)),
        coefficients(reinterpret_cast<float*>(totals + 2 * static_cast<size_t>(channels))),
        parts(reinterpret_cast<float2*>(coefficients + 4 * static_cast<size_t>(channels))) {}

  /// Enough for every GPU, so that planning needs none.
  static size_t bytes(const Shape& shape) {
    const size_t channels = static_cast<size_t>(shape.c);
    const size_t most_parts = std::max<size_t>(
        most_multiprocessors * blocks_of_multiprocessor * most_columns * widest_vector, channels);
    const size_t parts =
        std::min(most_parts,
                 channels * ((shape.pixels() + fewest_pixels_of_thread - 1) / fewest_pixels_of_thread + 1));
    const size_t bytes = channels * (2 * sizeof(double) + 4 * sizeof(float)) + parts * sizeof(float2);
    return aligned(bytes, device_alignment);  // tensors follow it, and vector accesses need alignment
  }
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

/// parts[blockIdx.x] of the block's channels = the sums of s and t over the block's rows. All threads
/// call it.
template <int count>
__device__ void sum_rows(const ChannelTiles& tiles, const float (&s)[count], const float (&t)[count],
                         float2* parts) {
  BRIGHTNET_SHARED(float, sums, [2][channel_threads * count]);
  const int thread = static_cast<int>(threadIdx.x), width = tiles.columns * count;
  if (thread < tiles.rows * tiles.columns) {
#pragma unroll
    for (int k = 0; k < count; ++k) {
      sums[0][thread * count + k] = s[k];
      sums[1][thread * count + k] = t[k];
    }
  }
  __syncthreads();
  // Several threads share a channel's rows, then one adds their sums.
  const int sharing = max(channel_threads / width, 1);
  const int mine = thread % width, part = thread / width;
  float2 sum{0.0f, 0.0f};
  if (part < sharing) {
    for (int row = part; row < tiles.rows; row += sharing) {
      sum.x += sums[0][row * width + mine];
      sum.y += sums[1][row * width + mine];
    }
  }
  __syncthreads();
  if (part < sharing) {
    sums[0][part * width + mine] = sum.x;
    sums[1][part * width + mine] = sum.y;
  }
  __syncthreads();
  const int channel = static_cast<int>(blockIdx.y) * width + mine;
  if (part == 0 && channel < tiles.channels) {
    for (int other = 1; other < sharing; ++other) {
      sum.x += sums[0][other * width + mine];
      sum.y += sums[1][other * width + mine];
    }
    parts[static_cast<size_t>(blockIdx.x) * tiles.channels + channel] = sum;
  }
}

constexpr int total_channels = 4;  ///< of a block of total_kernel: one sector; its threads share the chunks

/// Adds up the parts of every channel in fp64 and calls finish(channel, s, t). Latency-bound: a thread reads
/// about eight parts at once, and a tree adds up the threads.
template <typename Finish>
__global__ void __launch_bounds__(channel_threads)
    total_kernel(const float2* parts, int chunks, int channels, Finish finish) {
  BRIGHTNET_SHARED(double, sums, [2][channel_threads]);
  constexpr int sharing = channel_threads / total_channels;
  const int thread = static_cast<int>(threadIdx.x), part = thread / total_channels;
  const int channel = static_cast<int>(blockIdx.x) * total_channels + thread % total_channels;
  double s = 0, t = 0;
  if (channel < channels) {
#pragma unroll 8
    for (int chunk = part; chunk < chunks; chunk += sharing) {
      const float2 sum = parts[static_cast<size_t>(chunk) * channels + channel];
      s += static_cast<double>(sum.x);
      t += static_cast<double>(sum.y);
    }
  }
  sums[0][thread] = s;
  sums[1][thread] = t;
  for (int half = sharing / 2; half > 0; half /= 2) {
    __syncthreads();
    if (part >= half) continue;
    s += sums[0][half * total_channels + thread];
    t += sums[1][half * total_channels + thread];
    sums[0][thread] = s;
    sums[1][thread] = t;
  }
  if (part == 0 && channel < channels) finish(channel, s, t);
}

template <typename Finish>
void total(const ChannelWorkspace& workspace, const ChannelTiles& tiles, const Finish& finish,
           cudaStream_t stream) {
  const Grid grid(blocks_for(tiles.channels, total_channels));
  const Traffic parts{tiles.part_bytes(), 0};
  launch(total_kernel<Finish>, grid.moving(parts + finish.traffic(tiles.channels)), channel_threads, 0, stream,
         static_cast<const float2*>(workspace.parts), tiles.chunks, tiles.channels, finish);
}

#endif

}  // namespace brightnet::cuda
