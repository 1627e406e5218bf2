// Batch-norm's statistics from Σy and Σy² that cuDNN's convolution computed with its output y, so that y need not be
// read again: 2 · channels floats instead of the tensor.
//
// These sums are fp32 and taken about zero. A variance that is small beside the squared mean is the difference of two
// large numbers, and its digits are those that fp32 has left. A channel that is far from zero in this sense is read
// again, as the kernel that reads all of y does (sum_shifted): by all blocks, in vectors that hold a far channel. Most
// layers have none, and their blocks end at once. A frozen, pruned or fine-tuned network has some: one block alone would
// take 4 ms for a channel of 64 images of 304 × 304.
#pragma once

#include "kernels/batch_norm.h"
#include "kernels/cuda/channel_sums.h"

namespace brightnet::cuda {

/// mean² / variance from which on three of fp32's seven digits are lost.
constexpr double far_from_zero = 1000;

#ifdef BRIGHTNET_KERNELS

/// Calls finish(channel, Σy, Σy²) for every channel. `pitch`: between the two rows of sums; `stride`: between y's pixels.
template <typename T, int count, typename Finish>
__global__ void __launch_bounds__(channel_threads, resident(blocks_of_multiprocessor))
    output_sums_kernel(ChannelTiles tiles, const float* sums, int pitch, const T* y, unsigned stride,
                       ChannelWorkspace room, Finish finish) {
  BRIGHTNET_SHARED(bool, far, [channel_threads]);
  const int mine = static_cast<int>(threadIdx.x), width = tiles.columns * count;
  const int channel = static_cast<int>(blockIdx.y) * width + mine;
  const double pixels = static_cast<double>(tiles.pixels);
  bool is_far = false;
  if (mine < width && channel < tiles.channels) {
    const double s = static_cast<double>(sums[channel]), t = static_cast<double>(sums[pitch + channel]);
    const double mean = s / pixels;
    // Also where the variance came out negative.
    is_far = mean * mean > far_from_zero * (t / pixels - mean * mean);
    if (!is_far && blockIdx.x == 0) finish(channel, s, t);
  }
  far[mine] = is_far;
  if (!__syncthreads_or(is_far)) return;

  ChannelPlace place = ChannelPlace::of_thread<count>(tiles);
  bool reads = false;
#pragma unroll
  for (int k = 0; k < count; ++k) reads = reads || far[mine % tiles.columns * count + k];
  if (!reads) place.pixels = 0;
  float s[count] = {}, t[count] = {};
  sum_shifted<count>(place, y, stride, s, t);
  sum_rows<count>(tiles, s, t, room.parts);
  finish_sums<count>(tiles, room, [&](int, double from_shift, double squares) {
    if (!is_far) return;
    const double shift = static_cast<double>(widen(y[channel]));
    finish(channel, from_shift + pixels * shift, squares + shift * (2 * from_shift + pixels * shift));
  });
}

template <typename T, int count, typename Finish>
void finish_output_sums(const BatchNormForward& op, const ChannelWorkspace& room, const Finish& finish,
                        cudaStream_t stream) {
  const Tensor& y = op.y;
  const int channels = y.shape.c, pitch = op.sums_pitch > 0 ? op.sums_pitch : channels;
  const ChannelTiles tiles(y.shape, count, blocks_of_multiprocessor);
  const Traffic near{2 * channels * sizeof(float), 0};  // without channels that are read again
  launch(output_sums_kernel<T, count, Finish>, sums_grid(tiles).moving(near + finish.traffic(channels)),
         channel_threads, 0, stream, tiles, op.sums, pitch, y.as<const T>(), pixel_stride(y, count), room,
         finish);
}

#endif

}  // namespace brightnet::cuda
