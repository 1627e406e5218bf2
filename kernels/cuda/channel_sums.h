// Two sums over the pixels of every channel, in one launch: blocks sum parts of the pixels in fp32 (sum_rows), then
// whichever blocks come last add the parts in fp64 (finish_sums). The order of additions is fixed, so results are the
// same in every run on the same GPU. The parts are 8 bytes a channel and block: a few megabytes beside tensors of
// hundreds, and still in the L2 cache when they are added.
#pragma once

#include "core/alignment.h"
#include "kernels/cuda/channel_tiles.h"
#include "kernels/cuda/last_block.h"

namespace brightnet::cuda {

/// The workspace: fp64 sums of every channel, coefficients of the next pass, and partial sums; and the tickets of the
/// blocks that add them.
struct ChannelWorkspace {
  double* totals;       ///< [2][channels]
  double2* group_sums;  ///< [groups][channels]
  float* coefficients;  ///< [4][channels]
  float2* parts;        ///< [chunks][channels]
  unsigned* tickets;    ///< counters of the blocks that add the parts; nullptr: the parts are not added

  ChannelWorkspace(void* workspace, int channels, unsigned* tickets)
      : totals(static_cast<double*>(workspace)),
        group_sums(reinterpret_cast<double2*>(totals + 2 * static_cast<size_t>(channels))),
        coefficients(reinterpret_cast<float*>(group_sums + most_groups * static_cast<size_t>(channels))),
        parts(reinterpret_cast<float2*>(coefficients + 4 * static_cast<size_t>(channels))),
        tickets(tickets) {}

  /// Enough for every GPU, so that planning needs none.
  static size_t bytes(const Shape& shape) {
    const size_t channels = shape.c;
    const size_t most_parts = std::max<size_t>(
        most_multiprocessors * blocks_of_multiprocessor * most_columns * widest_vector, channels);
    const size_t parts =
        std::min(most_parts,
                 channels * ((shape.pixels() + fewest_pixels_of_thread - 1) / fewest_pixels_of_thread + 1));
    const size_t bytes =
        channels * ((2 + 2 * most_groups) * sizeof(double) + 4 * sizeof(float)) + parts * sizeof(float2);
    return aligned(bytes, device_alignment);  // tensors follow it, and vector accesses need alignment
  }
};

#ifdef BRIGHTNET_KERNELS

/// Adds Σ(y − k) and Σ(y − k)² over the thread's pixels, k being the channel's value in the tensor's first pixel. `stride`:
/// between y's pixels.
template <int count, typename T>
__device__ void sum_shifted(const ChannelPlace& place, const T* y, unsigned stride, float (&s)[count],
                            float (&t)[count]) {
  float k[count] = {};
  if (place.pixels > 0) load_floats<count>(y + place.channel, k);
  // Several loads are in flight before the first is used; pixels before the first are replaced by k, which
  // adds nothing. Pixels descend, and below 0 they wrap beyond the last.
  constexpr int batch = 4;
  for (unsigned pixel = place.pixels - 1 - place.first; pixel < place.pixels; pixel -= batch * place.step) {
    Vector<T, count> vectors[batch];
#pragma unroll
    for (unsigned j = 0; j < batch; ++j) {
      const unsigned own = pixel - j * place.step;
      vectors[j] = load<count>(y + place.at<count>(own < place.pixels ? own : 0, stride));
    }
#pragma unroll
    for (int j = 0; j < batch; ++j) {
#pragma unroll
      for (int c = 0; c < count; ++c) {
        const float v = widen(vectors[j].element[c]) - k[c];
        s[c] += v;
        t[c] += v * v;
      }
    }
  }
}

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

/// Adds the parts of a channel, once all are there, in fp64 and calls finish(channel, s, t). Follows
/// sum_rows(). The last block of every group of neighbouring ones adds the group's parts, and the last of
/// these blocks the groups': by one block alone it would be up to 768 loads a thread. All threads call it.
template <int count, typename Finish>
__device__ void finish_sums(const ChannelTiles& tiles, const ChannelWorkspace& room, const Finish& finish) {
  if (!room.tickets) return;
  const int column = static_cast<int>(blockIdx.y), group = static_cast<int>(blockIdx.x) / group_chunks;
  const int first = group * group_chunks, end = min(first + group_chunks, tiles.chunks);
  const int groups = tiles.groups, mine = static_cast<int>(threadIdx.x), width = tiles.columns * count;
  const int channel = column * width + mine;
  const bool adds = mine < width && channel < tiles.channels;
  const size_t channels = static_cast<size_t>(tiles.channels);
  unsigned* const ticket = room.tickets + column * (groups + 1);
  if (!is_last_block(ticket + 1 + group, static_cast<unsigned>(end - first))) return;
  double s = 0, t = 0;
  if (adds) {
#pragma unroll 8
    for (int chunk = first; chunk < end; ++chunk) {
      const float2 part = room.parts[chunk * channels + channel];
      s += static_cast<double>(part.x);
      t += static_cast<double>(part.y);
    }
  }
  if (groups > 1) {
    if (adds) room.group_sums[group * channels + channel] = {s, t};
    if (!is_last_block(ticket, static_cast<unsigned>(groups))) return;
    s = t = 0;
    if (adds) {
#pragma unroll 8
      for (int other = 0; other < groups; ++other) {
        const double2 sum = room.group_sums[other * channels + channel];
        s += sum.x;
        t += sum.y;
      }
    }
  }
  if (adds) finish(channel, s, t);
}

/// The grid of a kernel that ends with sum_rows() and finish_sums().
inline Grid sums_grid(const ChannelTiles& tiles,
                      const std::source_location& where = std::source_location::current()) {
  BRIGHTNET_CHECK(static_cast<size_t>(tiles.across) * (tiles.groups + 1) <= most_tickets,
                  "sums of more channels than there are tickets for");
  return Grid(tiles.grid(), where);
}

/// The grid of such a kernel that sums all channels, with its traffic; `summed`: the traffic beside that of
/// the sums and of `finish`.
template <typename Finish>
Grid sums_grid(const ChannelTiles& tiles, const Traffic& summed, const Finish& finish,
               const std::source_location& where = std::source_location::current()) {
  const size_t groups = static_cast<size_t>(tiles.groups), across = static_cast<size_t>(tiles.across);
  const size_t tickets = across * (groups > 1 ? groups + 1 : 1) * sizeof(unsigned);
  const size_t group_sums = groups > 1 ? groups * tiles.channels * sizeof(double2) : 0;
  const Traffic parts{tickets, tickets + tiles.part_bytes() + group_sums};
  return sums_grid(tiles, where).moving(summed + parts + finish.traffic(tiles.channels));
}

#endif

}  // namespace brightnet::cuda
