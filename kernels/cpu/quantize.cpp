// One pass: 4 bytes read and 1 written an element.
#include "kernels/cpu/quantize.h"

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/vector_types.h"

namespace brightnet::cpu {
namespace {

void quantize_part(const float* x, const QuantizedRange& range, uint8_t* y, size_t begin, size_t end) {
#pragma omp simd
  for (size_t i = begin; i < end; ++i) y[i] = quantized(x[i], range);
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

}  // namespace brightnet::cpu
