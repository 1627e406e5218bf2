// Single passes: 4 bytes read and 1 written an element; of the rounding that training simulates, 4 and 4, and 8 and 4 of its
// gradient.
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/vector_types.h"

namespace brightnet::cpu {
namespace {

void quantize_part(const float* x, const QuantizedRange& range, uint8_t* y, size_t begin, size_t end) {
#pragma omp simd
  for (size_t i = begin; i < end; ++i) y[i] = quantized(x[i], range);
}

void fake_quantize_part(const float* x, const QuantizedRange& range, float* y, size_t begin, size_t end) {
#pragma omp simd
  for (size_t i = begin; i < end; ++i) y[i] = dequantized(quantized(x[i], range), range);
}

void clear_saturated(const float* x, const QuantizedRange& range, float* dy, size_t begin, size_t end) {
#pragma omp simd
  for (size_t i = begin; i < end; ++i) dy[i] = range.contains(x[i]) ? dy[i] : 0.0f;
}

void check_pair(const Tensor& x, const Tensor& y) {
  BRIGHTNET_CHECK(x.shape == y.shape && x.type == DType::f32 && y.type == DType::f32,
                  "8 bits are simulated in fp32, between tensors of one shape");
}

}  // namespace

void quantize(const Tensor& x, const QuantizedRange& range, const Tensor& y) {
  BRIGHTNET_CHECK(x.shape == y.shape && x.type == DType::f32 && y.type == DType::u8,
                  "quantisation makes u8 of fp32, of one shape");
  parallel_elements(x.count(), 1 + sizeof(float),
                    [&, from = x.as<float>(), to = y.as<uint8_t>()](size_t begin, size_t end) {
                      quantize_part(from, range, to, begin, end);
                    });
}

void CpuBackend::quantize(const Tensor& x, const QuantizedRange& range, const Tensor& y) {
  cpu::quantize(x, range, y);
}

void CpuBackend::fake_quantize(const Tensor& x, const QuantizedRange& range, const Tensor& y) {
  check_pair(x, y);
  parallel_elements(x.count(), 2 * sizeof(float),
                    [&, from = x.as<float>(), to = y.as<float>()](size_t begin, size_t end) {
                      fake_quantize_part(from, range, to, begin, end);
                    });
}

void CpuBackend::fake_quantize_backward(const Tensor& x, const QuantizedRange& range, const Tensor& dy) {
  check_pair(x, dy);
  parallel_elements(x.count(), 3 * sizeof(float),
                    [&, from = x.as<float>(), to = dy.as<float>()](size_t begin, size_t end) {
                      clear_saturated(from, range, to, begin, end);
                    });
}

void CpuBackend::fake_quantize_weights(const float* w, const float* scales, size_t outputs,
                                       size_t weights_per_output, float* y) {
#pragma omp parallel for schedule(static)
  for (size_t o = 0; o < outputs; ++o) {
    for (size_t i = o * weights_per_output; i < (o + 1) * weights_per_output; ++i)
      y[i] = dequantized_weight(quantized_weight(w[i], scales[o]), scales[o]);
  }
}

}  // namespace brightnet::cpu
