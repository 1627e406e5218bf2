// Squeeze-and-excitation (Hu et al. 2018, §3), and the sums of learned weights: one pass over memory, a vector
// loop over the channels of a pixel. Sums over pixels are taken in parts that depend on the shape alone, fp32
// inside a part and fp64 over the parts.
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/vector_types.h"

namespace brightnet::cpu {

namespace {

void check_rows(const Tensor& x, const Tensor& rows) {
  const Shape& s = rows.shape;
  BRIGHTNET_CHECK(
      rows.type == DType::f32 && s.h == 1 && s.w == 1 && s.c == x.shape.c && (s.n == 1 || s.n == x.shape.n),
      "factors of shape " + to_string(s) + " for " + to_string(x.shape));
}

constexpr size_t block = 64;  ///< channels that are summed at once
constexpr size_t part = 256;  ///< pixels that are summed in fp32

template <typename T>
void sum_products(const T* a, const T* b, size_t pixels, size_t step, size_t channels, float* sums) {
  double total[block] = {};
  for (size_t begin = 0; begin < pixels; begin += part) {
    float sum[block] = {};
    for (size_t pixel = begin; pixel < std::min(pixels, begin + part); ++pixel) {
#pragma omp simd
      for (size_t c = 0; c < channels; ++c) sum[c] += widen(a[pixel * step + c]) * widen(b[pixel * step + c]);
    }
    for (size_t c = 0; c < channels; ++c) total[c] += static_cast<double>(sum[c]);
  }
  for (size_t c = 0; c < channels; ++c) sums[c] = static_cast<float>(total[c]);
}

}  // namespace

void CpuBackend::scale_channels(const Tensor& x, const Tensor& factors, const Tensor& y, bool accumulate) {
  BRIGHTNET_CHECK(x.shape == y.shape && x.type == y.type, "channels scaled into an unlike tensor");
  check_rows(x, factors);
  const size_t channels = x.shape.c;
  const size_t pixels_per_row = x.shape.pixels() / factors.shape.n;
  with_compute_type(x.type, [&]<typename T>() {
    parallel_items(x.shape.pixels(), (accumulate ? 3 : 2) * channels * sizeof(T),
                   [&](size_t begin, size_t end) {
                     for (size_t pixel = begin; pixel < end; ++pixel) {
                       const float* factor = factors.as<float>() + pixel / pixels_per_row * channels;
                       const T* from = x.as<T>() + pixel * channels;
                       T* to = y.as<T>() + pixel * channels;
                       if (accumulate) {
#pragma omp simd
                         for (size_t c = 0; c < channels; ++c)
                           store(to[c], widen(to[c]) + widen(from[c]) * factor[c]);
                       } else {
#pragma omp simd
                         for (size_t c = 0; c < channels; ++c) store(to[c], widen(from[c]) * factor[c]);
                       }
                     }
                   });
  });
}

void CpuBackend::channel_products(const Tensor& a, const Tensor& b, const Tensor& sums) {
  BRIGHTNET_CHECK(a.shape == b.shape && a.type == b.type, "product of unlike tensors");
  check_rows(a, sums);
  const size_t channels = a.shape.c, blocks = (channels + block - 1) / block;
  const size_t rows = sums.shape.n, pixels = a.shape.pixels() / rows;
  with_compute_type(a.type, [&]<typename T>() {
    parallel_items(rows * blocks, 2 * pixels * block * sizeof(T), [&](size_t begin, size_t end) {
      for (size_t item = begin; item < end; ++item) {
        const size_t row = item / blocks, first = item % blocks * block, at = row * pixels * channels + first;
        sum_products(a.as<T>() + at, b.as<T>() + at, pixels, channels, std::min(block, channels - first),
                     sums.as<float>() + row * channels + first);
      }
    });
  });
}

}  // namespace brightnet::cpu
