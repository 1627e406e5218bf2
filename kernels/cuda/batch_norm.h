// Shared by batch-norm's two directions (batch_norm_forward.cu, batch_norm_backward.cu; private to kernels/cuda/):
// the coefficients of a·y + b in registers, and sums that are all-reduced over ranks.
#pragma once

#include "kernels/cuda/activation.h"
#include "kernels/cuda/channel_sums.h"
#include "kernels/statistics_exchange.h"

namespace brightnet::cuda {

/// The parameters of which a channel's a = scale · inverse_std and b = shift − mean · a are made; [channels]
/// each.
struct ChannelAffine {
  const float *scale, *shift, *mean, *inverse_std;

  static size_t bytes(int channels) { return 4 * channels * sizeof(float); }
};

/// Pixels whose vectors a thread loads before it uses the first. An H200 moves 4 TB/s with some 700 ns from a
/// load to its use, which takes 21 KB of loads on their way in each of its multiprocessors. With two pixels these
/// passes have 48 KB and more: resident blocks · 256 threads · 2 pixels · 16 bytes of each tensor that is read.
constexpr int pixels_in_flight = 2;

#ifdef BRIGHTNET_KERNELS

/// `count` channels of fp32 parameters, four at a time: small maps have only about ten vectors per thread,
/// and scalar loads would take more instructions than these.
template <int count>
__device__ __forceinline__ void load_parameters(const float* from, int channel, float (&values)[count]) {
  constexpr int width = count < 4 ? count : 4;
#pragma unroll
  for (int first = 0; first < count; first += width) {
    const Vector<float, width> part = load<width>(from + channel + first);
#pragma unroll
    for (int k = 0; k < width; ++k) values[first + k] = part.element[k];
  }
}

/// Loads the coefficients of a·y + b.
template <int count>
__device__ __forceinline__ void load_affine(const ChannelAffine& affine, int channel, float (&a)[count],
                                            float (&b)[count]) {
  float means[count];
  load_parameters<count>(affine.scale, channel, a);
  load_parameters<count>(affine.inverse_std, channel, b);
#pragma unroll
  for (int k = 0; k < count; ++k) a[k] *= b[k];
  load_parameters<count>(affine.shift, channel, b);
  load_parameters<count>(affine.mean, channel, means);
#pragma unroll
  for (int k = 0; k < count; ++k) b[k] -= means[k] * a[k];
}

struct KeepSums {
  double* totals;  ///< [2][channels]
  int channels;

  Traffic traffic(int) const { return {0, 2 * channels * sizeof(double)}; }
  __device__ void operator()(int channel, double s, double t) const {
    totals[channel] = s;
    totals[channels + channel] = t;
  }
};

/// Calls finish(channel, s, t) with sums that are complete.
template <typename Finish>
__global__ void __launch_bounds__(channel_threads)
    finish_kernel(const double* totals, int channels, Finish finish) {
  const int channel = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (channel < channels) finish(channel, totals[channel], totals[channels + channel]);
}

/// All-reduces the sums in `totals` over the ranks, then finishes with them.
template <typename Finish>
void total_over_ranks(StatisticsExchange& exchange, double* totals, int channels, const Finish& finish,
                      cudaStream_t stream) {
  exchange.sum(totals, 2 * static_cast<size_t>(channels));
  const Traffic sums{2 * channels * sizeof(double), 0};
  const Grid grid(blocks_for(channels, channel_threads));
  launch(finish_kernel<Finish>, grid.moving(sums + finish.traffic(channels)), channel_threads, 0, stream,
         static_cast<const double*>(totals), channels, finish);
}

#endif

}  // namespace brightnet::cuda
