// Forward:  z = f(a·y + b) with a = scale/√(var + ε), b = shift − mean·a.
//   Reads y twice (statistics, then apply) and writes z: 3 · size bytes, the fewest while the convolution and
//   the statistics are separate. Where cuDNN's convolution computes Σy and Σy² as well
//   (kernels/cuda/convolution_graph.h), y is read once. The addend of a shortcut is one read more, where an
//   addition by itself would be three passes and a launch.
// Backward: with g = dz·f'(a·y + b), recomputed instead of stored, and x̂ = (y − mean)/√(var + ε),
//   dshift = Σg,  dscale = Σg·x̂,  dy = a·(g − dshift/n − x̂·dscale/n)  (Ioffe & Szegedy 2015).
//   Reads y and dz twice and writes dy: 5 · size bytes.
//
// Statistics are one pass of shifted sums: Σ(y − k) and Σ(y − k)² with k the channel's value in the first
// pixel, so that a mean far from zero does not cancel. A thread sums its pixels in fp32, parts are added in
// fp64 (channel_sums.h).
//
// The sums run from the last pixel, which the convolution wrote last and the L2 cache still holds, to the
// first; the apply pass starts there.
//
// Sums and apply pass are separate launches, because all blocks (and all ranks, with synchronized batch-norm)
// must synchronize between them.
#include "kernels/cuda/activation.h"
#include "kernels/cuda/channel_sums.h"
#include "kernels/cuda/convolution_kernels.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/output_sums.h"

namespace brightnet::cuda {
namespace {

/// Blocks per multiprocessor in each pass, limited by registers. The grid has the same size, so that all blocks
/// run at once.
constexpr int apply_blocks = 6, apply_sum_blocks = 5, gradient_sums_blocks = 3, apply_gradient_blocks = 4;

/// Pixels whose vectors a thread loads before it uses the first. An H200 moves 4 TB/s with some 700 ns from a
/// load to its use, which takes 21 KB of loads on their way in each of its multiprocessors; with two pixels
/// these passes have 48 to 96 KB (blocks · 256 threads · pixels · 16 bytes of each tensor read).
constexpr int pixels_in_flight = 2;

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

/// Coefficients of a·y + b.
template <int count>
__device__ __forceinline__ void load_affine(const float* scale, const float* shift, const float* mean,
                                            const float* inverse_std, int channel, float (&a)[count],
                                            float (&b)[count]) {
  float means[count];
  load_parameters<count>(scale, channel, a);
  load_parameters<count>(inverse_std, channel, b);
#pragma unroll
  for (int k = 0; k < count; ++k) a[k] *= b[k];
  load_parameters<count>(shift, channel, b);
  load_parameters<count>(mean, channel, means);
#pragma unroll
  for (int k = 0; k < count; ++k) b[k] -= means[k] * a[k];
}

template <typename T, int count>
__global__ void __launch_bounds__(channel_threads, resident(blocks_of_multiprocessor))
    statistics_kernel(ChannelTiles tiles, const T* y, float2* parts) {
  const ChannelPlace place = ChannelPlace::of_thread<count>(tiles);
  float k[count] = {}, s[count] = {}, t[count] = {};
  if (place.pixels > 0) load_floats<count>(y + place.channel, k);
  // Several loads are in flight before the first is used; pixels before the first are replaced by k, which
  // adds nothing. Pixels descend, and below 0 they wrap beyond the last.
  constexpr int batch = 4;
  for (unsigned pixel = place.pixels - 1 - place.first; pixel < place.pixels; pixel -= batch * place.step) {
    Vector<T, count> vectors[batch];
#pragma unroll
    for (unsigned j = 0; j < batch; ++j) {
      const unsigned own = pixel - j * place.step;
      vectors[j] = load<count>(y + place.at<count>(own < place.pixels ? own : 0, tiles.channels));
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
  sum_rows<count>(tiles, s, t, parts);
}

/// Mean and variance from Σ(y − k) and Σ(y − k)², for the backward pass and the running statistics.
template <typename T>
struct StoreStatistics {
  const T* k;  ///< of every channel: the first pixel; nullptr: the sums are about zero
  double pixels;
  float *mean, *inverse_std, *running_mean, *running_variance;
  float momentum, epsilon;

  Traffic traffic(int channels) const {
    const size_t floats = channels * sizeof(float);
    return {2 * floats + (k ? channels * sizeof(T) : 0), 4 * floats};
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

  Traffic traffic(int) const { return {channels * sizeof(T), 2 * channels * sizeof(double)}; }
  __device__ void operator()(int channel, double s, double t) const {
    const double shift = static_cast<double>(widen(k[channel]));
    totals[channel] = s + pixels * shift;
    totals[channels + channel] = t + shift * (2 * s + pixels * shift);
  }
};

struct KeepSums {
  double* totals;  ///< [2][channels]
  int channels;

  Traffic traffic(int) const { return {0, 2 * channels * sizeof(double)}; }
  __device__ void operator()(int channel, double s, double t) const {
    totals[channel] = s;
    totals[channels + channel] = t;
  }
};

/// Calls finish(channel, s, t) with sums that are already computed.
template <typename Number, typename Finish>
__global__ void __launch_bounds__(channel_threads)
    finish_kernel(const Number* totals, int channels, Finish finish) {
  const int channel = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (channel < channels)
    finish(channel, static_cast<double>(totals[channel]), static_cast<double>(totals[channels + channel]));
}

template <typename Number, typename Finish>
void finish_sums(const Number* totals, int channels, const Finish& finish, cudaStream_t stream) {
  const Traffic sums{2 * channels * sizeof(Number), 0};
  const Grid grid(blocks_for(channels, channel_threads));
  launch(finish_kernel<Number, Finish>, grid.moving(sums + finish.traffic(channels)), channel_threads, 0, stream,
         totals, channels, finish);
}

/// All-reduces the sums in `totals` over the ranks, then finishes with them.
template <typename Finish>
void total_over_ranks(StatisticsExchange& exchange, double* totals, int channels, const Finish& finish,
                      cudaStream_t stream) {
  exchange.sum(totals, 2 * static_cast<size_t>(channels));
  finish_sums<double>(totals, channels, finish, stream);
}

/// Arguments of the apply pass of either direction.
template <typename T>
struct ApplyArguments {
  const T* y;
  const T* dz;      ///< backward
  const T* addend;  ///< forward; nullptr: none
  T* to;            ///< z or dy
  unsigned stride;  ///< of z or dz
  const float *scale, *shift, *mean, *inverse_std;
  const float *k0, *k1;  ///< backward: dy = a·g + k1·y + k0
  Activation activation;
};

template <typename T, int count, bool adds>
__global__ void __launch_bounds__(channel_threads, resident(adds ? apply_sum_blocks : apply_blocks))
    apply_kernel(ChannelTiles tiles, ApplyArguments<T> op) {
  const ChannelPlace place = ChannelPlace::of_thread<count>(tiles);
  if (place.pixels == 0) return;
  float a[count], b[count];
  load_affine<count>(op.scale, op.shift, op.mean, op.inverse_std, place.channel, a, b);
  with_activation(op.activation, [&]<Activation A>() {
    for (unsigned pixel = place.first; pixel < place.pixels; pixel += pixels_in_flight * place.step) {
      Vector<T, count> y[pixels_in_flight];
      [[maybe_unused]] Vector<T, count> more[pixels_in_flight];  // summands
#pragma unroll
      for (int j = 0; j < pixels_in_flight; ++j) {
        const size_t at = place.at<count>(place.own(pixel, j), tiles.channels);
        y[j] = load_once<count>(op.y + at);
        if constexpr (adds) more[j] = load_once<count>(op.addend + at);
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
        store_floats<count>(op.to + place.at<count>(place.own(pixel, j), op.stride), values);
      }
    }
  });
}

/// Σg and Σg·(y − mean) of every channel.
template <typename T, int count>
__global__ void __launch_bounds__(channel_threads, resident(gradient_sums_blocks))
    gradient_sums_kernel(ChannelTiles tiles, ApplyArguments<T> op, float2* parts) {
  const ChannelPlace place = ChannelPlace::of_thread<count>(tiles);
  float a[count] = {}, b[count] = {}, mean[count] = {}, s[count] = {}, t[count] = {};
  if (place.pixels > 0) {
    load_affine<count>(op.scale, op.shift, op.mean, op.inverse_std, place.channel, a, b);
    load_parameters<count>(op.mean, place.channel, mean);
  }
  with_activation(op.activation, [&]<Activation A>() {
    // Pixels descend, and below 0 they wrap beyond the last.
    for (unsigned pixel = place.pixels - 1 - place.first; pixel < place.pixels;
         pixel -= pixels_in_flight * place.step) {
      Vector<T, count> y[pixels_in_flight], dz[pixels_in_flight];
#pragma unroll
      for (unsigned j = 0; j < pixels_in_flight; ++j) {
        const unsigned own = pixel - j * place.step < place.pixels ? pixel - j * place.step : pixel;
        y[j] = load<count>(op.y + place.at<count>(own, tiles.channels));
        dz[j] = load<count>(op.dz + place.at<count>(own, op.stride));
      }
#pragma unroll
      for (unsigned j = 0; j < pixels_in_flight; ++j) {
        if (pixel - j * place.step >= place.pixels) break;
#pragma unroll
        for (int c = 0; c < count; ++c) {
          const float value = widen(y[j].element[c]);
          const float g = widen(dz[j].element[c]) * activation_gradient<A>(a[c] * value + b[c]);
          s[c] += g;
          t[c] += g * (value - mean[c]);
        }
      }
    }
  });
  sum_rows<count>(tiles, s, t, parts);
}

/// The parameters' gradients from Σg and Σg·(y − mean).
struct StoreParameterGradients {
  const float* inverse_std;
  float *scale_gradient, *shift_gradient;
  bool accumulate;

  Traffic traffic(int channels) const {
    const size_t floats = channels * sizeof(float);
    return {(accumulate ? 3 : 1) * floats, 2 * floats};
  }
  __device__ void operator()(int channel, double s, double t) const {
    const double dscale = t * static_cast<double>(inverse_std[channel]);
    shift_gradient[channel] = static_cast<float>(s) + (accumulate ? shift_gradient[channel] : 0.0f);
    scale_gradient[channel] = static_cast<float>(dscale) + (accumulate ? scale_gradient[channel] : 0.0f);
  }
};

/// The coefficients of dy = a·g + k1·y + k0. Frozen statistics are constants without a gradient.
struct StoreGradientCoefficients {
  double pixels;
  const float *scale, *mean, *inverse_std;
  float *k0, *k1;
  bool frozen;

  /// Without inverse_std, which StoreParameterGradients reads, or nobody when frozen.
  Traffic traffic(int channels) const {
    const size_t floats = channels * sizeof(float);
    return {2 * floats, 2 * floats};
  }
  __device__ void operator()(int channel, double s, double t) const {
    const double std = inverse_std[channel], a = static_cast<double>(scale[channel] * inverse_std[channel]);
    const double factor = frozen ? 0.0 : -a * std * (t * std) / pixels;
    const double offset = frozen ? 0.0 : -a * s / pixels;
    k1[channel] = static_cast<float>(factor);
    k0[channel] = static_cast<float>(offset - factor * static_cast<double>(mean[channel]));
  }
};

template <typename First, typename Second>
struct Both {
  First first;
  Second second;

  Traffic traffic(int channels) const { return first.traffic(channels) + second.traffic(channels); }
  __device__ void operator()(int channel, double s, double t) const {
    first(channel, s, t);
    second(channel, s, t);
  }
};

template <typename T, int count>
__global__ void __launch_bounds__(channel_threads, resident(apply_gradient_blocks))
    apply_gradient_kernel(ChannelTiles tiles, ApplyArguments<T> op) {
  const ChannelPlace place = ChannelPlace::of_thread<count>(tiles);
  if (place.pixels == 0) return;
  float a[count], b[count], k0[count], k1[count];
  load_affine<count>(op.scale, op.shift, op.mean, op.inverse_std, place.channel, a, b);
  load_parameters<count>(op.k0, place.channel, k0);
  load_parameters<count>(op.k1, place.channel, k1);
  with_activation(op.activation, [&]<Activation A>() {
    for (unsigned pixel = place.first; pixel < place.pixels; pixel += pixels_in_flight * place.step) {
      Vector<T, count> y[pixels_in_flight], dz[pixels_in_flight];
#pragma unroll
      for (int j = 0; j < pixels_in_flight; ++j) {
        const unsigned own = place.own(pixel, j);
        y[j] = load_once<count>(op.y + place.at<count>(own, tiles.channels));
        dz[j] = load_once<count>(op.dz + place.at<count>(own, op.stride));
      }
#pragma unroll
      for (int j = 0; j < pixels_in_flight; ++j) {
        if (!place.has(pixel, j)) break;
        float dy[count];
#pragma unroll
        for (int c = 0; c < count; ++c) {
          const float value = widen(y[j].element[c]);
          const float g = widen(dz[j].element[c]) * activation_gradient<A>(a[c] * value + b[c]);
          dy[c] = a[c] * g + (k1[c] * value + k0[c]);
        }
        store_floats<count>(op.to + place.at<count>(place.own(pixel, j), tiles.channels), dy);
      }
    }
  });
}

/// The parts of the statistics' sums, into the workspace.
template <typename T, int count>
ChannelTiles queue_statistics(const Tensor& y, const ChannelWorkspace& room, cudaStream_t stream) {
  const ChannelTiles tiles(y.shape, count, blocks_of_multiprocessor);
  launch(statistics_kernel<T, count>, Grid(tiles.grid()).moving({y.bytes(), tiles.part_bytes()}), channel_threads, 0, stream, tiles, y.as<const T>(),
         room.parts);
  return tiles;
}

constexpr int fold_threads = 256;

/// A block folds one output channel.
__global__ void __launch_bounds__(fold_threads) fold_kernel(BatchNormFold op) {
  const size_t channel = blockIdx.x;
  const float factor = op.scale[channel] / sqrtf(op.running_variance[channel] + op.epsilon);
  if (threadIdx.x == 0) op.folded_bias[channel] = op.shift[channel] - op.running_mean[channel] * factor;
  const float* from = op.weight + channel * op.weights_per_channel;
  float* to = op.folded_weight + channel * op.weights_per_channel;
  for (size_t i = threadIdx.x; i < op.weights_per_channel; i += fold_threads) to[i] = from[i] * factor;
}

}  // namespace

size_t CudaBackend::channel_workspace(const Shape& shape) const {
  return ChannelWorkspace::bytes(shape);
}

void read_for_statistics(const Tensor& y, void* workspace, cudaStream_t stream) {
  const ChannelWorkspace room(workspace, y.shape.c);
  with_compute_type(y.type, [&]<typename T>() {
    channels_fill_vectors({y}) ? queue_statistics<T, whole_vector<T>>(y, room, stream)
                               : queue_statistics<T, 1>(y, room, stream);
  });
}

void CudaBackend::batch_norm_forward(const BatchNormForward& op) {
  BRIGHTNET_CHECK(!op.addend || (op.addend.shape == op.y.shape && op.addend.stride == 0),
                  "the addend is dense and of the output's shape");
  const int channels = op.y.shape.c;
  const ChannelWorkspace room(op.workspace, channels);
  const double pixels = static_cast<double>(op.y.shape.pixels());
  with_compute_type(op.y.type, [&]<typename T>() {
    const auto run = [&]<int count>() {
      const T* y = op.y.as<T>();
      if (!op.statistics_known) {
        StoreStatistics<T> store{
            y,           pixels,    op.mean, op.inverse_std, op.running_mean, op.running_variance,
            op.momentum, op.epsilon};
        if (op.sums || op.exchange) store.k = nullptr;
        if (op.exchange) store.pixels *= op.exchange->parts();
        if (op.sums && op.exchange) {
          finish_output_sums(op.y, op.sums, KeepSums{room.totals, channels}, stream());
        } else if (op.sums) {
          finish_output_sums(op.y, op.sums, store, stream());
        } else {
          const ChannelTiles tiles = queue_statistics<T, count>(op.y, room, stream());
          if (op.exchange) {
            total(room, tiles, KeepSumsAboutZero<T>{y, pixels, room.totals, channels}, stream());
          } else {
            total(room, tiles, store, stream());
          }
        }
        if (op.exchange) total_over_ranks(*op.exchange, room.totals, channels, store, stream());
      }
      ApplyArguments<T> apply{};
      apply.y = y;
      apply.addend = op.addend ? op.addend.as<T>() : nullptr;
      apply.to = op.z.as<T>();
      apply.stride = pixel_stride(op.z, count);
      apply.scale = op.scale;
      apply.shift = op.shift;
      apply.mean = op.mean;
      apply.inverse_std = op.inverse_std;
      apply.activation = op.activation;
      const ChannelTiles apply_tiles(op.y.shape, count, op.addend ? apply_sum_blocks : apply_blocks);
      const Traffic traffic{op.y.bytes() + (op.addend ? op.y.bytes() : 0) + 4 * channels * sizeof(float),
                            op.z.bytes()};
      launch(op.addend ? apply_kernel<T, count, true> : apply_kernel<T, count, false>, Grid(apply_tiles.grid()).moving(traffic), channel_threads, 0, stream(), apply_tiles, apply);
    };
    channels_fill_vectors({op.y, op.z, op.addend}) ? run.template operator()<whole_vector<T>>()
                                        : run.template operator()<1>();
  });
}

void CudaBackend::batch_norm_backward(const BatchNormBackward& op) {
  const int channels = op.y.shape.c;
  const ChannelWorkspace room(op.workspace, channels);
  float *k0 = room.coefficients, *k1 = k0 + channels;
  const StoreParameterGradients gradients{op.inverse_std, op.scale_gradient, op.shift_gradient,
                                          op.accumulate};
  const int parts = op.exchange ? op.exchange->parts() : 1;
  const StoreGradientCoefficients coefficients{
      static_cast<double>(op.y.shape.pixels()) * parts, op.scale, op.mean, op.inverse_std, k0, k1, op.frozen};
  with_compute_type(op.y.type, [&]<typename T>() {
    const auto run = [&]<int count>() {
      const ApplyArguments<T> apply{op.y.as<T>(),
                                    op.dz.as<T>(),
                                    nullptr,
                                    op.dy.as<T>(),
                                    pixel_stride(op.dz, count),
                                    op.scale,
                                    op.shift,
                                    op.mean,
                                    op.inverse_std,
                                    k0,
                                    k1,
                                    op.activation};
      const ChannelTiles tiles(op.y.shape, count, gradient_sums_blocks);
      const size_t read = op.y.bytes() + op.dz.bytes() + 4 * channels * sizeof(float);
      launch(gradient_sums_kernel<T, count>, Grid(tiles.grid()).moving({read, tiles.part_bytes()}), channel_threads, 0, stream(), tiles, apply,
             room.parts);
      if (op.exchange && !op.frozen) {
        total(room, tiles, Both<StoreParameterGradients, KeepSums>{gradients, {room.totals, channels}},
              stream());
        total_over_ranks(*op.exchange, room.totals, channels, coefficients, stream());
      } else {
        total(room, tiles, Both<StoreParameterGradients, StoreGradientCoefficients>{gradients, coefficients},
              stream());
      }
      const ChannelTiles apply_tiles(op.y.shape, count, apply_gradient_blocks);
      const Traffic traffic{read + 2 * channels * sizeof(float), op.dy.bytes()};
      launch(apply_gradient_kernel<T, count>, Grid(apply_tiles.grid()).moving(traffic), channel_threads, 0, stream(), apply_tiles,
             apply);
    };
    channels_fill_vectors({op.y, op.dz, op.dy}) ? run.template operator()<whole_vector<T>>()
                                                : run.template operator()<1>();
  });
}

void CudaBackend::fold_batch_norm(const BatchNormFold& op) {
  const size_t weights = op.channels * op.weights_per_channel * sizeof(float);
  const Traffic traffic{weights + 4 * op.channels * sizeof(float), weights + op.channels * sizeof(float)};
  launch(fold_kernel, Grid(op.channels).moving(traffic), fold_threads, 0, stream(), op);
}

}  // namespace brightnet::cuda
