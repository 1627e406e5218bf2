// Batch-norm's statistics from Σy and Σy² that cuDNN's convolution computed with its output y, so that y need not be
// read again: 2 · channels floats instead of the tensor.
//
// These sums are fp32 and taken about zero. A variance that is small beside the squared mean is the difference of two
// large numbers, and its digits are those that fp32 has left. A channel that is far from zero in this sense is read
// again, shifted by its mean, by the block that finishes it: a column of the tensor, which costs as much as
// 32 bytes / sizeof(T) columns, and far channels are few or none.
#pragma once

#include "kernels/batch_norm.h"
#include "kernels/cuda/block_sum.h"
#include "kernels/cuda/channel_sums.h"

namespace brightnet::cuda {

/// mean² / variance from which on three of fp32's seven digits are lost.
constexpr double far_from_zero = 1000;

#ifdef BRIGHTNET_KERNELS

/// Calls finish(channel, Σy, Σy²) for every channel; a block takes one. `pitch`: between the two rows of sums;
/// `stride`: between y's pixels.
template <typename T, typename Finish>
__global__ void __launch_bounds__(channel_threads)
    output_sums_kernel(const float* sums, int pitch, const T* y, unsigned pixels, unsigned stride,
                       Finish finish) {
  const int channel = static_cast<int>(blockIdx.x);
  const double count = pixels;
  double s = static_cast<double>(sums[channel]), t = static_cast<double>(sums[pitch + channel]);
  const double mean = s / count;
  // Also where the variance came out negative.
  if (mean * mean > far_from_zero * (t / count - mean * mean)) {
    s = t = 0;
    for (unsigned pixel = threadIdx.x; pixel < pixels; pixel += channel_threads) {
      const double v = static_cast<double>(widen(y[static_cast<size_t>(pixel) * stride + channel])) - mean;
      s += v;
      t += v * v;
    }
    s = block_sum(s);
    t = block_sum(t);
    t += mean * (2 * s + count * mean);
    s += count * mean;
  }
  if (threadIdx.x == 0) finish(channel, s, t);
}

template <typename Finish>
void finish_output_sums(const BatchNormForward& op, const Finish& finish, cudaStream_t stream) {
  const Tensor& y = op.y;
  const int channels = y.shape.c, pitch = op.sums_pitch > 0 ? op.sums_pitch : channels;
  const Traffic near{2 * channels * sizeof(float), 0};  // without channels that are read again
  with_compute_type(y.type, [&]<typename T>() {
    launch(output_sums_kernel<T, Finish>, Grid(channels).moving(near + finish.traffic(channels)),
           channel_threads, 0, stream, op.sums, pitch, y.as<const T>(),
           static_cast<unsigned>(y.shape.pixels()), static_cast<unsigned>(y.pixel_stride()), finish);
  });
}

#endif

}  // namespace brightnet::cuda
