// Rounding as 8 bits round, in fp32. Forward moves 8 bytes an element, backward 12, the weights 8; 16 at a time but for the
// weights, whose scales change within a vector.
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/elementwise.h"

namespace brightnet::cuda {
namespace {

struct RoundElements {
  const float* x;
  QuantizedRange range;
  float* y;

  template <int count>
  __device__ void operator()(size_t i) const {
    float values[count];
    load_floats<count>(x + i, values);
#pragma unroll
    for (int k = 0; k < count; ++k) values[k] = dequantized(quantized(values[k], range), range);
    store_floats<count>(y + i, values);
  }
};

struct ClearSaturated {
  const float* x;
  QuantizedRange range;
  float* dy;

  template <int count>
  __device__ void operator()(size_t i) const {
    float values[count], gradients[count];
    load_floats<count>(x + i, values);
    load_floats<count>(dy + i, gradients);
#pragma unroll
    for (int k = 0; k < count; ++k) gradients[k] = range.contains(values[k]) ? gradients[k] : 0.0f;
    store_floats<count>(dy + i, gradients);
  }
};

struct RoundWeights {
  const float *w, *scales;
  size_t weights_per_output;
  float* y;

  template <int count>
  __device__ void operator()(size_t i) const {
    const float scale = scales[i / weights_per_output];
    y[i] = dequantized_weight(quantized_weight(w[i], scale), scale);
  }
};

void check_pair(const Tensor& x, const Tensor& y) {
  BRIGHTNET_CHECK(x.shape == y.shape && x.type == DType::f32 && y.type == DType::f32,
                  "8 bits are simulated in fp32, between tensors of one shape");
}

}  // namespace

void CudaBackend::fake_quantize(const Tensor& x, const QuantizedRange& range, const Tensor& y) {
  check_pair(x, y);
  for_each_element<whole_vector<float>>(x.count(), {x.data, y.data},
                                        RoundElements{x.as<float>(), range, y.as<float>()}, stream(),
                                        Traffic{x.bytes(), y.bytes()});
}

void CudaBackend::fake_quantize_backward(const Tensor& x, const QuantizedRange& range, const Tensor& dy) {
  check_pair(x, dy);
  for_each_element<whole_vector<float>>(x.count(), {x.data, dy.data},
                                        ClearSaturated{x.as<float>(), range, dy.as<float>()}, stream(),
                                        Traffic{2 * x.bytes(), dy.bytes()});
}

void CudaBackend::fake_quantize_weights(const float* w, const float* scales, size_t outputs,
                                        size_t weights_per_output, float* y) {
  const size_t count = outputs * weights_per_output, bytes = count * sizeof(float);
  for_each_element<1>(count, {w, y}, RoundWeights{w, scales, weights_per_output, y}, stream(),
                      Traffic{bytes + outputs * sizeof(float), bytes});
}

}  // namespace brightnet::cuda
