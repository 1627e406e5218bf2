// Two sums over the pixels of every channel, in two launches: blocks sum parts of the pixels in fp32 (sum_rows), then
// the parts are added in fp64 in a fixed order (total), so results are the same in every run on the same GPU. The
// parts are 8 bytes a channel and block: a few megabytes beside tensors of hundreds.
#pragma once

#include "core/alignment.h"
#include "kernels/cuda/channel_tiles.h"

namespace brightnet::cuda {

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

#ifdef BRIGHTNET_KERNELS

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
