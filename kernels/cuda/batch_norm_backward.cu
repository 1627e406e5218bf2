// With g = dz·f'(a·y + b), recomputed instead of stored, and x̂ = (y − mean)/√(var + ε),
//
//   dshift = Σg,  dscale = Σg·x̂,  dy = a·(g − dshift/n − x̂·dscale/n)  (Ioffe & Szegedy 2015).
//
//                             reads        writes
//   gradient_sums_kernel      y, dz        dscale, dshift, coefficients of dy
//   apply_gradient_kernel     y, dz        dy
//
// 5 · size bytes. The sums run from the last pixel to the first, and dy is computed from the first on, which the L2
// cache still holds. dz may also be the gradient of a shortcut's other input, so nothing but dy is written; a
// thread writes it where it has read y, or elsewhere.
#include "kernels/cuda/batch_norm.h"
#include "kernels/cuda/cuda_backend.h"

namespace brightnet::cuda {
namespace {

/// Resident blocks per multiprocessor, limited by registers.
constexpr int gradient_sums_blocks = 3, apply_gradient_blocks = 4;

template <typename T>
struct GradientArguments {
  const T *y, *dz;
  T* dy;
  unsigned y_stride, dz_stride;  ///< dy has the stride of y
  ChannelAffine affine;
  const float *k0, *k1;  ///< dy = a·g + k1·y + k0
  Activation activation;
};

/// The parameters' gradients from Σg and Σg·(y − mean).
struct StoreParameterGradients {
  const float* inverse_std;
  float *scale_gradient, *shift_gradient;
  bool accumulate;

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

  Traffic traffic(int channels) const {
    const size_t floats = channels * sizeof(float);
    return {3 * floats, 2 * floats};
  }
  __device__ void operator()(int channel, double s, double t) const {
    const double std = inverse_std[channel], a = static_cast<double>(scale[channel] * inverse_std[channel]);
    const double factor = frozen ? 0.0 : -a * std * (t * std) / pixels;
    const double offset = frozen ? 0.0 : -a * s / pixels;
    k1[channel] = static_cast<float>(factor);
    k0[channel] = static_cast<float>(offset - factor * static_cast<double>(mean[channel]));
  }
};

/// Stores the parameters' gradients and the coefficients; over ranks the sums in the place of the
/// coefficients, which need those of all ranks.
struct FinishGradients {
  StoreParameterGradients gradients;
  StoreGradientCoefficients coefficients;
  KeepSums sums;
  bool over_ranks;

  /// Does not count the parameters, which the sums read too.
  Traffic traffic(int channels) const {
    const size_t floats = channels * sizeof(float);
    const size_t stored =
        over_ranks ? sums.traffic(channels).written : coefficients.traffic(channels).written;
    return {gradients.accumulate ? 2 * floats : 0, 2 * floats + stored};
  }
  __device__ void operator()(int channel, double s, double t) const {
    gradients(channel, s, t);
    over_ranks ? sums(channel, s, t) : coefficients(channel, s, t);
  }
};

/// Channels of a thread that sums, at most: with eight, five numbers for each and the pixels that are loaded while others
/// are computed would not fit into the registers of gradient_sums_blocks.
constexpr int gradient_sums_channels = 4;

/// Σg and Σg·(y − mean) of every channel. The next pixels are loaded before those that are there are computed, which takes
/// as long as a load for mish.
template <typename T, int count>
__global__ void __launch_bounds__(channel_threads, resident(gradient_sums_blocks))
    gradient_sums_kernel(ChannelTiles tiles, GradientArguments<T> op, ChannelWorkspace room,
                         FinishGradients finish) {
  const ChannelPlace place = ChannelPlace::of_thread<count>(tiles);
  float a[count] = {}, b[count] = {}, mean[count] = {}, s[count] = {}, t[count] = {};
  if (place.pixels > 0) {
    load_affine<count>(op.affine, place.channel, a, b);
    load_parameters<count>(op.affine.mean, place.channel, mean);
  }
  with_activation(op.activation, [&]<Activation A>() {
    Vector<T, count> y[pixels_in_flight], dz[pixels_in_flight], next_y[pixels_in_flight],
        next_dz[pixels_in_flight];
    const auto load_next = [&](unsigned pixel) {
#pragma unroll
      for (unsigned j = 0; j < pixels_in_flight; ++j) {
        const unsigned own = pixel - j * place.step < place.pixels ? pixel - j * place.step : pixel;
        next_y[j] = load<count>(op.y + place.at<count>(own, op.y_stride));
        next_dz[j] = load<count>(op.dz + place.at<count>(own, op.dz_stride));
      }
    };
    // Pixels descend, and below 0 they wrap beyond the last.
    unsigned next = place.pixels - 1 - place.first;
    if (next < place.pixels) load_next(next);
    while (next < place.pixels) {
      const unsigned pixel = next;
#pragma unroll
      for (int j = 0; j < pixels_in_flight; ++j) {
        y[j] = next_y[j];
        dz[j] = next_dz[j];
      }
      next -= pixels_in_flight * place.step;
      if (next < place.pixels) load_next(next);
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
  sum_rows<count>(tiles, s, t, room.parts);
  finish_sums<count>(tiles, room, finish);
}

template <typename T, int count>
__global__ void __launch_bounds__(channel_threads, resident(apply_gradient_blocks))
    apply_gradient_kernel(ChannelTiles tiles, GradientArguments<T> op) {
  const ChannelPlace place = ChannelPlace::of_thread<count>(tiles);
  if (place.pixels == 0) return;
  float a[count], b[count], k0[count], k1[count];
  load_affine<count>(op.affine, place.channel, a, b);
  load_parameters<count>(op.k0, place.channel, k0);
  load_parameters<count>(op.k1, place.channel, k1);
  with_activation(op.activation, [&]<Activation A>() {
    for (unsigned pixel = place.first; pixel < place.pixels; pixel += pixels_in_flight * place.step) {
      Vector<T, count> y[pixels_in_flight], dz[pixels_in_flight];
#pragma unroll
      for (int j = 0; j < pixels_in_flight; ++j) {
        const unsigned own = place.own(pixel, j);
        y[j] = load_once<count>(op.y + place.at<count>(own, op.y_stride));
        dz[j] = load_once<count>(op.dz + place.at<count>(own, op.dz_stride));
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
        store_floats<count>(op.dy + place.at<count>(place.own(pixel, j), op.y_stride), dy);
      }
    }
  });
}

}  // namespace

void CudaBackend::batch_norm_backward(const BatchNormBackward& op) {
  const int channels = op.y.shape.c;
  BRIGHTNET_CHECK(op.dy.pixel_stride() == op.y.pixel_stride(), "dy is dense or a slice as y is");
  const ChannelWorkspace room(op.workspace, channels, tickets());
  float *k0 = room.coefficients, *k1 = k0 + channels;
  const double pixels = static_cast<double>(op.y.shape.pixels()) * (op.exchange ? op.exchange->parts() : 1);
  const StoreParameterGradients gradients{op.inverse_std, op.scale_gradient, op.shift_gradient,
                                          op.accumulate};
  const StoreGradientCoefficients coefficients{pixels, op.scale, op.mean, op.inverse_std, k0, k1, op.frozen};
  const bool over_ranks = op.exchange && !op.frozen;
  const FinishGradients finish{gradients, coefficients, {room.totals, channels}, over_ranks};
  const size_t read = op.y.bytes() + op.dz.bytes() + ChannelAffine::bytes(channels);
  with_compute_type(op.y.type, [&]<typename T>() {
    const auto run = [&]<int count>() {
      constexpr int summed = std::min(count, gradient_sums_channels);
      const GradientArguments<T> arguments{op.y.as<const T>(),
                                           op.dz.as<const T>(),
                                           op.dy.as<T>(),
                                           pixel_stride(op.y, summed),
                                           pixel_stride(op.dz, summed),
                                           {op.scale, op.shift, op.mean, op.inverse_std},
                                           k0,
                                           k1,
                                           op.activation};
      const ChannelTiles tiles(op.y.shape, summed, gradient_sums_blocks);
      launch(gradient_sums_kernel<T, summed>, sums_grid(tiles, {read, 0}, finish), channel_threads, 0,
             stream(), tiles, arguments, room, finish);
      if (over_ranks) total_over_ranks(*op.exchange, room.totals, channels, coefficients, stream());
      const ChannelTiles apply_tiles(op.y.shape, count, apply_gradient_blocks);
      launch(apply_gradient_kernel<T, count>,
             Grid(apply_tiles.grid()).moving({read + 2 * channels * sizeof(float), op.dy.bytes()}),
             channel_threads, 0, stream(), apply_tiles, arguments);
    };
    channels_fill_vectors({op.y, op.dz, op.dy}) ? run.template operator()<whole_vector<T>>()
                                                : run.template operator()<1>();
  });
}

}  // namespace brightnet::cuda
