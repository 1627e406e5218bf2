// Forward:  z = f(a·y + b) with a = scale/√(var + ε), b = shift − mean·a.
//   Reads y twice (statistics, then apply) and writes z: three passes, the fewest there can be while the
//   convolution and the statistics are separate.
// Backward: with g = dz·f'(a·y + b), recomputed instead of stored, and x̂ = (y − mean)/√(var + ε),
//   dshift = Σg,  dscale = Σg·x̂,  dy = a·(g − dshift/n − x̂·dscale/n)  (Ioffe & Szegedy 2015).
//   Reads y and dz twice and writes dy: five passes.
//
// Statistics are one pass of shifted sums: Σ(y − k) and Σ(y − k)² with k the channel's value in the first
// pixel, so that a mean far from zero does not cancel. Sums run in fp32 over a block of pixels and in fp64
// over blocks; each thread sums its own contiguous part of the pixels, and the parts are added in order, so
// that results are the same in every run with the same number of threads.
//
// Over ranks, the sums of both directions meet between the two passes: forward Σy and Σy², about zero,
// because the ranks' k differ (fp64 has the digits to spare), backward Σg and Σg·(y − mean).
//
// The statistics pass walks from the end, where the convolution has just written and the cache is warm, and
// the apply pass from the start, where the statistics pass has just been.
#include "kernels/cpu/batch_norm.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/vector_types.h"

namespace brightnet::cpu {
namespace {

constexpr size_t block_pixels = 512;  ///< summed in fp32 before they join the fp64 sums
constexpr int channel_group = 64;     ///< channels summed at a time, in registers

/// Parts of the workspace. `first` and `second` are one row of sums a thread.
struct Sums {
  double *first, *second;
  float *a, *b, *c;

  Sums(void* workspace, int channels) {
    const size_t threads = static_cast<size_t>(compute_threads());
    first = static_cast<double*>(workspace);
    second = first + threads * channels;
    a = reinterpret_cast<float*>(second + threads * channels);
    b = a + channels;
    c = b + channels;
  }

  /// Sum of a channel over all threads.
  static double total(const double* rows, int channels, int channel) {
    double sum = 0;
    for (int thread = 0; thread < compute_threads(); ++thread)
      sum += rows[static_cast<size_t>(thread) * channels + channel];
    return sum;
  }

  /// The sums of every channel over all threads, `first`'s and behind them `second`'s, in the place of the
  /// rows.
  double* totals(int channels) const {
    for (int c = 0; c < channels; ++c) {
      const double s = total(first, channels, c), t = total(second, channels, c);
      first[c] = s;
      first[channels + c] = t;
    }
    return first;
  }
};

/// Calls body(begin, end, thread) on each thread's part of the pixels, and clears the sums first.
template <typename Body>
void over_pixels(const Sums& sums, int channels, size_t pixels, Body&& body) {
  const size_t count = static_cast<size_t>(compute_threads()) * channels;
  std::fill_n(sums.first, 2 * count, 0.0);
  parallel_ranges(
      pixels, [&](size_t begin, size_t end) { body(begin, end, static_cast<size_t>(omp_get_thread_num())); });
}

/// Adds, over pixels [begin, end) and from the last block to the first, what `term(pixel, channel)`
/// returns as a pair to the sums of each channel. Channels go in groups whose fp32 sums stay in registers.
template <typename Term>
void sum_channels(size_t begin, size_t end, int channels, double* first, double* second, Term&& term) {
  for (size_t block_end = end; block_end > begin;) {
    const size_t block_begin = block_end - begin > block_pixels ? block_end - block_pixels : begin;
    for (int group = 0; group < channels; group += channel_group) {
      const int width = std::min(channel_group, channels - group);
      float s[channel_group] = {}, t[channel_group] = {};
      const auto add_pixel = [&](size_t pixel, int count) {
#pragma omp simd
        for (int i = 0; i < count; ++i) term(pixel, group + i, s[i], t[i]);
      };
      if (width == channel_group) {
        for (size_t pixel = block_begin; pixel < block_end; ++pixel) add_pixel(pixel, channel_group);
      } else if (width == channel_group / 2) {
        for (size_t pixel = block_begin; pixel < block_end; ++pixel) add_pixel(pixel, channel_group / 2);
      } else {
        for (size_t pixel = block_begin; pixel < block_end; ++pixel) add_pixel(pixel, width);
      }
      for (int i = 0; i < width; ++i) {
        first[group + i] += static_cast<double>(s[i]);
        second[group + i] += static_cast<double>(t[i]);
      }
    }
    block_end = block_begin;
  }
}

template <typename T>
void statistics(const BatchNormForward& op, const Sums& sums) {
  const T* y = op.y.as<T>();
  const int channels = op.y.shape.c;
  const size_t pixels = op.y.shape.pixels();
  float* shift = sums.c;
  for (int c = 0; c < channels; ++c) shift[c] = widen(y[c]);
  over_pixels(sums, channels, pixels, [&](size_t begin, size_t end, size_t thread) {
    sum_channels(begin, end, channels, sums.first + thread * channels, sums.second + thread * channels,
                 [=](size_t pixel, int c, float& s, float& t) {
                   const float v = widen(y[pixel * channels + c]) - shift[c];
                   s += v;
                   t += v * v;
                 });
  });
  double n = static_cast<double>(pixels);
  double *s = sums.totals(channels), *t = s + channels;
  if (op.exchange) {
    for (int c = 0; c < channels; ++c) {
      const double k = shift[c];
      t[c] += k * (2 * s[c] + n * k);
      s[c] += n * k;
      shift[c] = 0;
    }
    op.exchange->sum(s, 2 * static_cast<size_t>(channels));
    n *= op.exchange->parts();
  }
  for (int c = 0; c < channels; ++c) {
    const double mean = shift[c] + s[c] / n;
    const double variance = std::max(0.0, (t[c] - s[c] * s[c] / n) / n);
    const double unbiased = n > 1 ? variance * n / (n - 1) : variance;
    op.mean[c] = static_cast<float>(mean);
    op.inverse_std[c] = static_cast<float>(1.0 / std::sqrt(variance + op.epsilon));
    op.running_mean[c] += op.momentum * (op.mean[c] - op.running_mean[c]);
    op.running_variance[c] += op.momentum * (static_cast<float>(unbiased) - op.running_variance[c]);
  }
}

/// Coefficients of the apply pass: a·y + b.
void affine(const float* scale, const float* shift, const float* mean, const float* inverse_std,
            const Sums& sums, int channels) {
  for (int c = 0; c < channels; ++c) {
    sums.a[c] = scale[c] * inverse_std[c];
    sums.b[c] = shift[c] - mean[c] * sums.a[c];
  }
}

template <Activation A, typename T>
void apply(const BatchNormForward& op, const Sums& sums) {
  const T* y = op.y.as<T>();
  T* z = op.z.as<T>();
  const size_t stride = op.z.pixel_stride();
  const int channels = op.y.shape.c;
  const float *a = sums.a, *b = sums.b;
  parallel_ranges(op.y.shape.pixels(), [&](size_t begin, size_t end) {
    for (size_t pixel = begin; pixel < end; ++pixel) {
      const T* from = y + pixel * channels;
      T* to = z + pixel * stride;
#pragma omp simd
      for (int c = 0; c < channels; ++c) store(to[c], activate<A>(a[c] * widen(from[c]) + b[c]));
    }
  });
}

/// Σg and Σg·(y − mean) of every channel.
template <Activation A, typename T>
void gradient_sums(const BatchNormBackward& op, const Sums& sums) {
  const T *y = op.y.as<T>(), *dz = op.dz.as<T>();
  const int channels = op.y.shape.c;
  const size_t stride = op.dz.pixel_stride();
  const float *a = sums.a, *b = sums.b, *mean = op.mean;
  over_pixels(sums, channels, op.y.shape.pixels(), [&](size_t begin, size_t end, size_t thread) {
    sum_channels(begin, end, channels, sums.first + thread * channels, sums.second + thread * channels,
                 [=](size_t pixel, int c, float& s, float& t) {
                   const float v = widen(y[pixel * channels + c]);
                   const float g = widen(dz[pixel * stride + c]) * activation_gradient<A>(a[c] * v + b[c]);
                   s += g;
                   t += g * (v - mean[c]);
                 });
  });
}

/// dy = a·g + k1·y + k0.
template <Activation A, typename T>
void apply_gradient(const BatchNormBackward& op, const Sums& sums, const float* k0, const float* k1) {
  const T* y = op.y.as<T>();
  const T* dz = op.dz.as<T>();
  T* dy = op.dy.as<T>();
  const int channels = op.y.shape.c;
  const size_t stride = op.dz.pixel_stride();
  const float *a = sums.a, *b = sums.b;
  parallel_ranges(op.y.shape.pixels(), [&](size_t begin, size_t end) {
    for (size_t pixel = begin; pixel < end; ++pixel) {
      const T* from = y + pixel * channels;
      const T* gradient = dz + pixel * stride;
      T* to = dy + pixel * channels;
#pragma omp simd
      for (int c = 0; c < channels; ++c) {
        const float v = widen(from[c]);
        const float g = widen(gradient[c]) * activation_gradient<A>(a[c] * v + b[c]);
        store(to[c], a[c] * g + (k1[c] * v + k0[c]));
      }
    }
  });
}

}  // namespace

size_t channel_workspace(const Shape& shape) {
  return static_cast<size_t>(shape.c) * (2 * sizeof(double) * compute_threads() + 4 * sizeof(float));
}

void batch_norm_forward(const BatchNormForward& op) {
  const int channels = op.y.shape.c;
  const Sums sums(op.workspace, channels);
  with_compute_type(op.y.type, [&]<typename T>() {
    if (!op.statistics_known) statistics<T>(op, sums);
    affine(op.scale, op.shift, op.mean, op.inverse_std, sums, channels);
    with_activation(op.activation, [&]<Activation A>() { apply<A, T>(op, sums); });
  });
}

void batch_norm_backward(const BatchNormBackward& op) {
  const int channels = op.y.shape.c;
  const Sums sums(op.workspace, channels);
  affine(op.scale, op.shift, op.mean, op.inverse_std, sums, channels);
  double n = static_cast<double>(op.y.shape.pixels());
  with_compute_type(op.y.type, [&]<typename T>() {
    with_activation(op.activation, [&]<Activation A>() {
      gradient_sums<A, T>(op, sums);
      float *k0 = sums.c, *k1 = sums.c + channels;
      double *s = sums.totals(channels), *t = s + channels;
      for (int c = 0; c < channels; ++c) {
        const double dshift = s[c], dscale = t[c] * op.inverse_std[c];
        op.shift_gradient[c] = static_cast<float>(dshift) + (op.accumulate ? op.shift_gradient[c] : 0.0f);
        op.scale_gradient[c] = static_cast<float>(dscale) + (op.accumulate ? op.scale_gradient[c] : 0.0f);
      }
      if (op.exchange && !op.frozen) {
        op.exchange->sum(s, 2 * static_cast<size_t>(channels));
        n *= op.exchange->parts();
      }
      for (int c = 0; c < channels; ++c) {
        const double dshift = s[c], dscale = t[c] * op.inverse_std[c];
        // With frozen statistics mean and variance are constants, and nothing flows back through them.
        const double slope = op.frozen ? 0.0 : -sums.a[c] * op.inverse_std[c] * dscale / n;
        const double offset = op.frozen ? 0.0 : -sums.a[c] * dshift / n;
        k1[c] = static_cast<float>(slope);
        k0[c] = static_cast<float>(offset - slope * op.mean[c]);
      }
      apply_gradient<A, T>(op, sums, k0, k1);
    });
  });
}

void fold_batch_norm(const BatchNormFold& op) {
  for (int c = 0; c < op.channels; ++c) {
    const float factor = op.scale[c] / std::sqrt(op.running_variance[c] + op.epsilon);
    op.folded_bias[c] = op.shift[c] - op.running_mean[c] * factor;
    const float* from = op.weight + static_cast<size_t>(c) * op.weights_per_channel;
    float* to = op.folded_weight + static_cast<size_t>(c) * op.weights_per_channel;
#pragma omp simd
    for (size_t i = 0; i < op.weights_per_channel; ++i) to[i] = from[i] * factor;
  }
}

void bias_gradient(const Tensor& dy, float* db, bool accumulate, void* workspace) {
  const int channels = dy.shape.c;
  const Sums sums(workspace, channels);
  with_compute_type(dy.type, [&]<typename T>() {
    const T* from = dy.as<T>();
    over_pixels(sums, channels, dy.shape.pixels(), [&](size_t begin, size_t end, size_t thread) {
      sum_channels(begin, end, channels, sums.first + thread * channels, sums.second + thread * channels,
                   [=](size_t pixel, int c, float& s, float&) { s += widen(from[pixel * channels + c]); });
    });
  });
  for (int c = 0; c < channels; ++c) {
    db[c] = static_cast<float>(Sums::total(sums.first, channels, c)) + (accumulate ? db[c] : 0.0f);
  }
}

}  // namespace brightnet::cpu
