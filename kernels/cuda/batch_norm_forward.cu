// z = f(a·y + b) with a = scale/√(var + ε), b = shift − mean·a, plus a shortcut's other input where there is one.
//
//                             reads        writes
//   statistics_kernel         y            mean, inverse_std, running statistics
//   normalize_kernel          y, addend    z
//
// 3 · size bytes, the fewest while the convolution and the statistics are separate; where cuDNN's convolution
// computes Σy and Σy² (output_sums.h) the first two are one launch that reads nothing of y: 2 · size. The addend is
// one pass more; an addition by itself would be three.
//
// Statistics are one pass of shifted sums: Σ(y − k) and Σ(y − k)² with k the channel's value in the first pixel, so
// that a mean far from zero does not cancel. A thread sums its pixels in fp32, parts are added in fp64
// (channel_sums.h). The sums run from the last pixel, which the convolution wrote last and the L2 cache still holds,
// to the first; the normalisation starts there. It is a launch of its own, because all blocks (and all ranks, with
// synchronized batch-norm) must synchronize before it.
#include "kernels/cuda/batch_norm.h"
#include "kernels/cuda/convolution_kernels.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/output_sums.h"

namespace brightnet::cuda {
namespace {

/// Mean and variance from Σ(y − k) and Σ(y − k)², for the backward pass and the running statistics.
template <typename T>
struct StoreStatistics {
  const T* k;  ///< every channel's value in the first pixel; nullptr: the sums are about zero
  double pixels;
  float *mean, *inverse_std, *running_mean, *running_variance;
  float momentum, epsilon;

  Traffic traffic(int channels) const {
    const size_t floats = channels * sizeof(float);
    return {2 * floats, 4 * floats};
  }
  __device__ void operator()(int channel, double s, double t) const {
    const double batch_mean = (k ? static_cast<double>(widen(k[channel])) : 0.0) + s / pixels;
    double variance = (t - s * s / pixels) / pixels;
    if (variance < 0) variance = 0;
    const double unbiased = pixels > 1 ? variance * pixels / (pixels - 1) : variance;
    mean[channel] = static_cast<float>(batch_mean);
    inverse_std[channel] = static_cast<float>(1.0 / sqrt(variance + static_cast<double>(epsilon)));
    running_mean[channel] += momentum * (mean[channel] - running_mean[channel]);
    running_variance[channel] += momentum * (static_cast<float>(unbiased) - running_variance[channel]);
  }
};

/// Σy and Σy² from Σ(y − k) and Σ(y − k)²: ranks have different k, and fp64 has the digits to do without.
template <typename T>
struct KeepSumsAboutZero {
  const T* k;
  double pixels;
  double* totals;  ///< [2][channels]
  int channels;

  Traffic traffic(int) const { return {0, 2 * channels * sizeof(double)}; }
  __device__ void operator()(int channel, double s, double t) const {
    const double shift = static_cast<double>(widen(k[channel]));
    totals[channel] = s + pixels * shift;
    totals[channels + channel] = t + shift * (2 * s + pixels * shift);
  }
};

/// Stores the statistics or, over ranks, keeps the sums.
template <typename T>
struct FinishStatistics {
  StoreStatistics<T> statistics;
  KeepSumsAboutZero<T> sums;
  bool over_ranks;

  Traffic traffic(int channels) const {
    return over_ranks ? sums.traffic(channels) : statistics.traffic(channels);
  }
  __device__ void operator()(int channel, double s, double t) const {
    over_ranks ? sums(channel, s, t) : statistics(channel, s, t);
  }
};

template <typename T, int count>
__global__ void __launch_bounds__(channel_threads, resident(blocks_of_multiprocessor))
    statistics_kernel(ChannelTiles tiles, const T* y, unsigned stride, ChannelWorkspace room,
                      FinishStatistics<T> finish) {
  const ChannelPlace place = ChannelPlace::of_thread<count>(tiles);
  float s[count] = {}, t[count] = {};
  sum_shifted<count>(place, y, stride, s, t);
  sum_rows<count>(tiles, s, t, room.parts);
  finish_sums<count>(tiles, room, finish);
}

template <typename T>
struct NormalizeArguments {
  const T *y, *addend;  ///< no addend: nullptr
  T* z;
  unsigned y_stride, z_stride;
  ChannelAffine affine;
  Activation activation;
};

/// Resident blocks per multiprocessor, limited by registers. The grid has the same size, so that all run at once.
constexpr int normalize_blocks = 6, normalize_sum_blocks = 5;

template <typename T, int count, bool adds>
__global__ void __launch_bounds__(channel_threads, resident(adds ? normalize_sum_blocks : normalize_blocks))
    normalize_kernel(ChannelTiles tiles, NormalizeArguments<T> op) {
  const ChannelPlace place = ChannelPlace::of_thread<count>(tiles);
  if (place.pixels == 0) return;
  float a[count], b[count];
  load_affine<count>(op.affine, place.channel, a, b);
  with_activation(op.activation, [&]<Activation A>() {
    for (unsigned pixel = place.first; pixel < place.pixels; pixel += pixels_in_flight * place.step) {
      Vector<T, count> y[pixels_in_flight];
      [[maybe_unused]] Vector<T, count> more[pixels_in_flight];  // summands
#pragma unroll
      for (int j = 0; j < pixels_in_flight; ++j) {
        const unsigned own = place.own(pixel, j);
        y[j] = load_once<count>(op.y + place.at<count>(own, op.y_stride));
        if constexpr (adds) more[j] = load_once<count>(op.addend + place.at<count>(own, tiles.channels));
      }
#pragma unroll
      for (int j = 0; j < pixels_in_flight; ++j) {
        if (!place.has(pixel, j)) break;
        float values[count];
#pragma unroll
        for (int c = 0; c < count; ++c) {
          values[c] = activate<A>(a[c] * widen(y[j].element[c]) + b[c]);
          if constexpr (adds) values[c] += widen(more[j].element[c]);
        }
        store_floats<count>(op.z + place.at<count>(place.own(pixel, j), op.z_stride), values);
      }
    }
  });
}

template <typename T, int count>
void queue_statistics(const Tensor& y, const ChannelWorkspace& room, const FinishStatistics<T>& finish,
                      cudaStream_t stream) {
  const ChannelTiles tiles(y.shape, count, blocks_of_multiprocessor);
  launch(statistics_kernel<T, count>, sums_grid(tiles, {y.bytes(), 0}, finish), channel_threads, 0, stream,
         tiles, y.as<const T>(), pixel_stride(y, count), room, finish);
}

/// Mean, inverse_std and running statistics of this rank's pixels, or of all ranks'.
template <typename T, int count>
void queue_mean_and_variance(const BatchNormForward& op, unsigned* tickets, cudaStream_t stream) {
  const int channels = op.y.shape.c;
  const ChannelWorkspace room(op.workspace, channels, tickets);
  const double pixels = static_cast<double>(op.y.shape.pixels());
  StoreStatistics<T> store{op.y.as<const T>(),  pixels,      op.mean,   op.inverse_std, op.running_mean,
                           op.running_variance, op.momentum, op.epsilon};
  const KeepSumsAboutZero<T> keep{store.k, pixels, room.totals, channels};
  const bool over_ranks = op.exchange != nullptr;
  if (!op.sums) queue_statistics<T, count>(op.y, room, {store, keep, over_ranks}, stream);
  store.k = nullptr;
  if (!over_ranks) {
    if (op.sums) finish_output_sums<T, count>(op, room, store, stream);
    return;
  }
  if (op.sums) finish_output_sums<T, count>(op, room, KeepSums{room.totals, channels}, stream);
  store.pixels = pixels * op.exchange->parts();
  total_over_ranks(*op.exchange, room.totals, channels, store, stream);
}

template <typename T, int count>
void queue_normalize(const BatchNormForward& op, cudaStream_t stream) {
  const NormalizeArguments<T> arguments{op.y.as<const T>(),
                                        op.addend ? op.addend.as<const T>() : nullptr,
                                        op.z.as<T>(),
                                        pixel_stride(op.y, count),
                                        pixel_stride(op.z, count),
                                        {op.scale, op.shift, op.mean, op.inverse_std},
                                        op.activation};
  const bool adds = static_cast<bool>(op.addend);
  const ChannelTiles tiles(op.y.shape, count, adds ? normalize_sum_blocks : normalize_blocks);
  const size_t read = (adds ? 2 : 1) * op.y.bytes() + ChannelAffine::bytes(op.y.shape.c);
  launch(adds ? normalize_kernel<T, count, true> : normalize_kernel<T, count, false>,
         Grid(tiles.grid()).moving({read, op.z.bytes()}), channel_threads, 0, stream, tiles, arguments);
}

}  // namespace

size_t CudaBackend::channel_workspace(const Shape& shape) const {
  return ChannelWorkspace::bytes(shape);
}

void read_for_statistics(const Tensor& y, void* workspace, cudaStream_t stream) {
  const ChannelWorkspace room(workspace, y.shape.c, nullptr);
  with_compute_type(y.type, [&]<typename T>() {
    channels_fill_vectors({y}) ? queue_statistics<T, whole_vector<T>>(y, room, {}, stream)
                               : queue_statistics<T, 1>(y, room, {}, stream);
  });
}

void CudaBackend::batch_norm_forward(const BatchNormForward& op) {
  BRIGHTNET_CHECK(!op.addend || (op.addend.shape == op.y.shape && op.addend.stride == 0),
                  "the addend is dense and of the output's shape");
  with_compute_type(op.y.type, [&]<typename T>() {
    const auto run = [&]<int count>() {
      if (!op.statistics_known) queue_mean_and_variance<T, count>(op, tickets(), stream());
      queue_normalize<T, count>(op, stream());
    };
    channels_fill_vectors({op.y, op.z, op.addend}) ? run.template operator()<whole_vector<T>>()
                                                   : run.template operator()<1>();
  });
}

}  // namespace brightnet::cuda
