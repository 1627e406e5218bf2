// Forward:  z = f(a·y + b) with a = scale/√(var + ε), b = shift − mean·a.
//   Reads y twice (statistics, then apply) and writes z: three passes, the minimum while convolution and
//   statistics are separate. The addend of a shortcut is one more, instead of the three of an addition.
// Backward: with g = dz·f'(a·y + b), recomputed instead of stored, and x̂ = (y − mean)/√(var + ε),
//   dshift = Σg,  dscale = Σg·x̂,  dy = a·(g − dshift/n − x̂·dscale/n)  (Ioffe & Szegedy 2015).
//   Reads y and dz twice and writes dy: five passes.
//
// Channels are summed in fp32 over blocks of one image's pixels, and over blocks in fp64. The blocks do not
// depend on the threads, or on which images of a batch this rank has, so every block sum has the same bits;
// fp64 absorbs the order of their addition. So statistics are bit-identical in fp32 however a batch is
// divided among threads or ranks.
//
// Statistics are one pass of shifted sums: Σ(y − k) and Σ(y − k)² with k the channel's value in the block's
// first pixel, so that a mean far from zero does not cancel in fp32. Blocks have different k; their sums are
// shifted back to Σy and Σy² in fp64, which has the digits for it.
//
// Synchronized batch-norm all-reduces the sums between the two passes: forward Σy and Σy², backward Σg and
// Σg·(y − mean). Rank 0 takes the parameters' gradients from these totals, rounded to fp32 once, as one rank
// with the whole batch would.
//
// The statistics pass runs from the end, which the convolution wrote last and the cache still holds; the
// apply pass runs from the start, which the statistics pass read last.
#include <algorithm>
#include <cmath>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/vector_types.h"

namespace brightnet::cpu {
namespace {

constexpr size_t block_pixels = 128;  ///< pixels of one image that are summed in fp32 before fp64
constexpr int channel_group = 64;     ///< channels summed at a time, in registers

/// Parts of the workspace. `first` and `second` are one row of sums a thread.
struct Sums {
  double *first, *second;
  float *a, *b, *c;

  Sums(void* workspace, int channels) {
    const size_t threads = compute_threads();
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

  /// The sums of every channel over all threads, first `first`'s, then `second`'s; overwrites the rows.
  double* totals(int channels) const {
    for (int c = 0; c < channels; ++c) {
      const double s = total(first, channels, c), t = total(second, channels, c);
      first[c] = s;
      first[channels + c] = t;
    }
    return first;
  }
};

/// Pixels [begin, end) of one image, and a group of channels.
struct Block {
  size_t begin, end;
  int channel, width;
  double *first, *second;  ///< where the sums of these channels are added
};

/// Clears the sums, and calls body on every block, from the last to the first.
template <typename Body>
void over_blocks(const Sums& sums, const Shape& shape, Body&& body) {
  const auto channels = static_cast<size_t>(shape.c);
  const size_t image = shape.h * static_cast<size_t>(shape.w);
  const size_t blocks_of_image = (image + block_pixels - 1) / block_pixels;
  const size_t groups = (channels + channel_group - 1) / channel_group;
  const size_t count = shape.n * blocks_of_image * groups;
  std::fill_n(sums.first, 2 * static_cast<size_t>(compute_threads()) * channels, 0.0);
  parallel_ranges(count, [&](size_t begin, size_t end) {
    const size_t row = static_cast<size_t>(omp_get_thread_num()) * channels;
    for (size_t i = begin; i < end; ++i) {
      const size_t from_the_end = count - 1 - i;
      const size_t channel = from_the_end % groups * channel_group, place = from_the_end / groups;
      const size_t first_pixel = place % blocks_of_image * block_pixels;
      const size_t image_begin = place / blocks_of_image * image;
      body(Block{.begin = image_begin + first_pixel,
                 .end = image_begin + std::min(image, first_pixel + block_pixels),
                 .channel = static_cast<int>(channel),
                 .width = static_cast<int>(std::min<size_t>(channel_group, channels - channel)),
                 .first = sums.first + row + channel,
                 .second = sums.second + row + channel});
    }
  });
}

/// Sums of a block's channels in fp32.
struct BlockSums {
  float s[channel_group] = {}, t[channel_group] = {};

  /// Calls term(pixel, i, s[i], t[i]) for the i-th channel of the block in every pixel.
  template <typename Term>
  void add(const Block& block, Term&& term) {
    const auto add_pixels = [&](int width) {
      for (size_t pixel = block.begin; pixel < block.end; ++pixel) {
#pragma omp simd
        for (int i = 0; i < width; ++i) term(pixel, i, s[i], t[i]);
      }
    };
    // A compile-time width keeps the sums in registers.
    if (block.width == channel_group) {
      add_pixels(channel_group);
    } else if (block.width == channel_group / 2) {
      add_pixels(channel_group / 2);
    } else {
      add_pixels(block.width);
    }
  }
};

void add_to_totals(const Block& block, const BlockSums& sums) {
  for (int i = 0; i < block.width; ++i) {
    block.first[i] += static_cast<double>(sums.s[i]);
    block.second[i] += static_cast<double>(sums.t[i]);
  }
}

/// Σy and Σy² of every channel.
template <typename T>
void value_sums(const Tensor& tensor, const Sums& sums) {
  const T* y = tensor.as<T>();
  const size_t stride = tensor.pixel_stride();
  over_blocks(sums, tensor.shape, [&](const Block& block) {
    const T* from = y + block.channel;
    float k[channel_group] = {};
    for (int i = 0; i < block.width; ++i) k[i] = widen(from[block.begin * stride + i]);
    BlockSums about_k;
    about_k.add(block, [&](size_t pixel, int i, float& s, float& t) {
      const float v = widen(from[pixel * stride + i]) - k[i];
      s += v;
      t += v * v;
    });
    const auto n = static_cast<double>(block.end - block.begin);
    for (int i = 0; i < block.width; ++i) {
      const double shift = k[i], s = about_k.s[i], t = about_k.t[i];
      block.first[i] += s + n * shift;
      block.second[i] += t + shift * (2 * s + n * shift);
    }
  });
}

template <typename T>
void statistics(const BatchNormForward& op, const Sums& sums) {
  const int channels = op.y.shape.c;
  double n = op.y.shape.pixels();
  if (!op.sums) value_sums<T>(op.y, sums);
  double *s = sums.totals(channels), *t = s + channels;
  if (op.sums) {
    std::copy_n(op.sums, channels, s);
    std::copy_n(op.sums + (op.sums_pitch > 0 ? op.sums_pitch : channels), channels, t);
  }
  if (op.exchange) {
    op.exchange->sum(s, 2 * static_cast<size_t>(channels));
    n *= op.exchange->parts();
  }
  for (int c = 0; c < channels; ++c) {
    const double mean = s[c] / n;
    const double variance = std::max(0.0, t[c] / n - mean * mean);
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

template <Activation A, bool adds, typename T>
void apply(const BatchNormForward& op, const Sums& sums) {
  const T* y = op.y.as<T>();
  const T* addend = adds ? op.addend.as<T>() : nullptr;
  T* z = op.z.as<T>();
  const size_t y_stride = op.y.pixel_stride(), stride = op.z.pixel_stride();
  const int channels = op.y.shape.c;
  const float *a = sums.a, *b = sums.b;
  parallel_ranges(op.y.shape.pixels(), [&](size_t begin, size_t end) {
    for (size_t pixel = begin; pixel < end; ++pixel) {
      const T* from = y + pixel * y_stride;
      const T* more = adds ? addend + pixel * channels : nullptr;
      T* to = z + pixel * stride;
#pragma omp simd
      for (int c = 0; c < channels; ++c) {
        const float value = activate<A>(a[c] * widen(from[c]) + b[c]);
        store(to[c], adds ? value + widen(more[c]) : value);
      }
    }
  });
}

/// Σg and Σg·(y − mean) of every channel.
template <Activation A, typename T>
void gradient_sums(const BatchNormBackward& op, const Sums& sums) {
  const T *y = op.y.as<T>(), *dz = op.dz.as<T>();
  const size_t y_stride = op.y.pixel_stride(), stride = op.dz.pixel_stride();
  const float *a = sums.a, *b = sums.b, *mean = op.mean;
  over_blocks(sums, op.y.shape, [&](const Block& block) {
    BlockSums block_sums;
    const size_t channel = block.channel;
    block_sums.add(block, [=](size_t pixel, int i, float& s, float& t) {
      const size_t c = channel + i;
      const float v = widen(y[pixel * y_stride + c]);
      const float g = widen(dz[pixel * stride + c]) * activation_gradient<A>(a[c] * v + b[c]);
      s += g;
      t += g * (v - mean[c]);
    });
    add_to_totals(block, block_sums);
  });
}

/// dy = a·g + k1·y + k0.
template <Activation A, typename T>
void apply_gradient(const BatchNormBackward& op, const Sums& sums, const float* k0, const float* k1) {
  const T* y = op.y.as<T>();
  const T* dz = op.dz.as<T>();
  T* dy = op.dy.as<T>();
  const int channels = op.y.shape.c;
  const size_t y_stride = op.y.pixel_stride(), stride = op.dz.pixel_stride();
  const float *a = sums.a, *b = sums.b;
  parallel_ranges(op.y.shape.pixels(), [&](size_t begin, size_t end) {
    for (size_t pixel = begin; pixel < end; ++pixel) {
      const T* from = y + pixel * y_stride;
      const T* gradient = dz + pixel * stride;
      T* to = dy + pixel * y_stride;
#pragma omp simd
      for (int c = 0; c < channels; ++c) {
        const float v = widen(from[c]);
        const float g = widen(gradient[c]) * activation_gradient<A>(a[c] * v + b[c]);
        store(to[c], a[c] * g + (k1[c] * v + k0[c]));
      }
    }
  });
}

/// Totals over ranks are kept by rank 0 only, because gradients are summed over ranks again.
bool keeps_sum(const StatisticsExchange* exchange) {
  return !exchange || exchange->part() == 0;
}

float gradient(double sum, bool accumulate, float before) {
  return static_cast<float>(sum) + (accumulate ? before : 0.0f);
}

}  // namespace

size_t CpuBackend::channel_workspace(const Shape& shape) const {
  return shape.c * (2 * sizeof(double) * compute_threads() + 4 * sizeof(float));
}

void CpuBackend::batch_norm_forward(const BatchNormForward& op) {
  const int channels = op.y.shape.c;
  const Sums sums(op.workspace, channels);
  BRIGHTNET_CHECK(!op.addend || (op.addend.shape == op.y.shape && op.addend.stride == 0),
                  "the addend is dense and of the output's shape");
  with_compute_type(op.y.type, [&]<typename T>() {
    if (!op.statistics_known) statistics<T>(op, sums);
    affine(op.scale, op.shift, op.mean, op.inverse_std, sums, channels);
    with_activation(op.activation, [&]<Activation A>() {
      op.addend ? apply<A, true, T>(op, sums) : apply<A, false, T>(op, sums);
    });
  });
}

void CpuBackend::batch_norm_backward(const BatchNormBackward& op) {
  const int channels = op.y.shape.c;
  const Sums sums(op.workspace, channels);
  BRIGHTNET_CHECK(op.dy.pixel_stride() == op.y.pixel_stride(), "dy is dense or a slice as y is");
  affine(op.scale, op.shift, op.mean, op.inverse_std, sums, channels);
  double n = op.y.shape.pixels();
  with_compute_type(op.y.type, [&]<typename T>() {
    with_activation(op.activation, [&]<Activation A>() {
      gradient_sums<A, T>(op, sums);
      float *k0 = sums.c, *k1 = sums.c + channels;
      double *s = sums.totals(channels), *t = s + channels;
      if (op.exchange) {
        op.exchange->sum(s, 2 * static_cast<size_t>(channels));
        n *= op.exchange->parts();
      }
      const bool keeps = keeps_sum(op.exchange);
      for (int c = 0; c < channels; ++c) {
        const double dshift = s[c], dscale = t[c] * op.inverse_std[c];
        op.shift_gradient[c] = gradient(keeps ? dshift : 0.0, op.accumulate, op.shift_gradient[c]);
        op.scale_gradient[c] = gradient(keeps ? dscale : 0.0, op.accumulate, op.scale_gradient[c]);
        // With frozen statistics mean and variance are constants, and nothing flows back through them.
        const double factor = op.frozen ? 0.0 : -sums.a[c] * op.inverse_std[c] * dscale / n;
        const double offset = op.frozen ? 0.0 : -sums.a[c] * dshift / n;
        k1[c] = static_cast<float>(factor);
        k0[c] = static_cast<float>(offset - factor * op.mean[c]);
      }
      apply_gradient<A, T>(op, sums, k0, k1);
    });
  });
}

void CpuBackend::fold_batch_norm(const BatchNormFold& op) {
  for (int c = 0; c < op.channels; ++c) {
    const float factor = op.scale[c] / std::sqrt(op.running_variance[c] + op.epsilon);
    op.folded_bias[c] = op.shift[c] - op.running_mean[c] * factor;
    const float* from = op.weight + c * op.weights_per_channel;
    float* to = op.folded_weight + c * op.weights_per_channel;
#pragma omp simd
    for (size_t i = 0; i < op.weights_per_channel; ++i) to[i] = from[i] * factor;
  }
}

void CpuBackend::bias_gradient(const Tensor& dy, float* db, bool accumulate, void* workspace,
                               StatisticsExchange* exchange) {
  const int channels = dy.shape.c;
  const Sums sums(workspace, channels);
  with_compute_type(dy.type, [&]<typename T>() {
    const T* from = dy.as<T>();
    over_blocks(sums, dy.shape, [&](const Block& block) {
      BlockSums block_sums;
      block_sums.add(block, [=](size_t pixel, int i, float& s, float&) {
        s += widen(from[pixel * channels + (block.channel + i)]);
      });
      add_to_totals(block, block_sums);
    });
  });
  double* totals = sums.totals(channels);
  if (exchange) exchange->sum(totals, static_cast<size_t>(channels));
  const bool keeps = keeps_sum(exchange);
  for (int c = 0; c < channels; ++c) db[c] = gradient(keeps ? totals[c] : 0.0, accumulate, db[c]);
}

}  // namespace brightnet::cpu
