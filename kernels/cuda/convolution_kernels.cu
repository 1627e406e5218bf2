// bias_activation: y = activation(y + bias[c]), in place. It reads and writes every element once, 2 · size
// bytes; the biases are a few kilobytes that stay in the cache. The tensor is dense, so a thread takes 16
// bytes wherever they lie, over the end of a pixel, too: the 255 channels of YOLO's heads fill no vectors.
//
// add_weight_gradient: dw = or += part. Reads part (2 or 4 bytes an element) and, to accumulate,
// dw; writes dw.
//
// fill_random: writes what engines are timed and checked on.
#include "kernels/cuda/activation.h"
#include "kernels/cuda/convolution_kernels.h"
#include "kernels/cuda/elementwise.h"

namespace brightnet::cuda {
namespace {

template <typename T>
struct BiasElements {
  Activation activation;
  T* y;
  const float* bias;
  unsigned channels;
  bool by_four;  ///< four biases at a time

  /// Vectors are numbered with 32 bits: dividing 64-bit numbers would take longer than moving 16 bytes.
  template <int count>
  __device__ unsigned channel_of(size_t i) const {
    if constexpr (count == 1) return static_cast<unsigned>(i % channels);
    return static_cast<unsigned>(i / count) % channels * count % channels;
  }

  template <int count>
  __device__ void operator()(size_t i) const {
    float values[count];
    load_floats<count>(y + i, values);
    unsigned channel = channel_of<count>(i);
    constexpr int width = count < 4 ? count : 4;
    if (by_four) {
#pragma unroll
      for (int first = 0; first < count; first += width) {
        const Vector<float, width> part = load<width>(bias + channel);
#pragma unroll
        for (int k = 0; k < width; ++k) values[first + k] += part.element[k];
        channel = channel + width < channels ? channel + width : 0;
      }
    } else {
#pragma unroll
      for (int k = 0; k < count; ++k) {
        values[k] += bias[channel];
        channel = channel + 1 < channels ? channel + 1 : 0;
      }
    }
    activate_all(activation, values);
    store_floats<count>(y + i, values);
  }
};

template <typename T>
struct GradientElements {
  const T* part;
  float* dw;
  bool accumulate;

  template <int count>
  __device__ void operator()(size_t i) const {
    float values[count], before[count] = {};
    load_floats<count>(part + i, values);
    if (accumulate) load_floats<count>(dw + i, before);
#pragma unroll
    for (int k = 0; k < count; ++k) values[k] += before[k];
    store_floats<count>(dw + i, values);
  }
};

template <typename T>
struct PadElements {
  const float* weights;
  T* to;
  unsigned inputs, padded;

  template <int>
  __device__ void operator()(size_t i) const {
    const unsigned row = static_cast<unsigned>(i) / padded, input = static_cast<unsigned>(i) % padded;
    to[i] = narrow<T>(input < inputs ? weights[row * inputs + input] : 0.0f);
  }
};

template <typename T>
struct PaddedGradientElements {
  const T* part;
  float* dw;
  unsigned inputs, padded;
  bool accumulate;

  template <int>
  __device__ void operator()(size_t i) const {
    const unsigned row = static_cast<unsigned>(i) / inputs, input = static_cast<unsigned>(i) % inputs;
    dw[i] = widen(part[row * padded + input]) + (accumulate ? dw[i] : 0.0f);
  }
};

template <typename T>
struct RandomElements {
  T* tensor;
  float scale;

  template <int count>
  __device__ void operator()(size_t i) const {
    float values[count];
#pragma unroll
    for (int k = 0; k < count; ++k) {
      // Two rounds of a multiplicative hash with the best constants of Ettinger's search for 32 bits ("lowbias32").
      unsigned bits = static_cast<unsigned>(i + k);
      bits = (bits ^ (bits >> 16)) * 0x7feb352du;
      bits = (bits ^ (bits >> 15)) * 0x846ca68bu;
      bits ^= bits >> 16;
      values[k] = scale * (static_cast<float>(bits) * 0x1p-31f - 1.0f);
    }
    store_floats<count>(tensor + i, values);
  }
};

}  // namespace

void fill_random(const Tensor& tensor, float scale, cudaStream_t stream) {
  const size_t count = tensor.shape.pixels() * tensor.pixel_stride();
  with_compute_type(tensor.type, [&]<typename T>() {
    for_each_element<whole_vector<T>>(count, {tensor.data}, RandomElements<T>{tensor.as<T>(), scale}, stream,
                                      Traffic{0, count * sizeof(T)});
  });
}

void bias_activation(const Tensor& y, const float* bias, Activation activation, cudaStream_t stream) {
  BRIGHTNET_CHECK(y.pixel_stride() == static_cast<size_t>(y.shape.c), "a bias is added to a dense tensor");
  BRIGHTNET_CHECK(y.count() / 4 <= 0xffffffffu, "a tensor of more than 2^32 vectors");
  const bool by_four = y.shape.c % 4 == 0 && aligned_for_vectors({bias});
  with_compute_type(y.type, [&]<typename T>() {
    for_each_element<whole_vector<T>>(
        y.count(), {y.data},
        BiasElements<T>{activation, y.as<T>(), bias, static_cast<unsigned>(y.shape.c), by_four}, stream,
        Traffic{y.bytes() + y.shape.c * sizeof(float), y.bytes()});
  });
}

// A few thousand weights, those of the layer that reads the image.
void pad_inputs(const float* weights, int inputs, const Tensor& to, int padded, cudaStream_t stream) {
  const size_t rows = to.count() / padded;
  with_compute_type(to.type, [&]<typename T>() {
    for_each_element<1>(
        to.count(), {to.data},
        PadElements<T>{weights, to.as<T>(), static_cast<unsigned>(inputs), static_cast<unsigned>(padded)},
        stream, Traffic{rows * inputs * sizeof(float), to.bytes()});
  });
}

void add_padded_weight_gradient(const Tensor& part, int padded, float* dw, int inputs, bool accumulate,
                                cudaStream_t stream) {
  const size_t count = part.count() / padded * inputs;
  with_compute_type(part.type, [&]<typename T>() {
    const size_t bytes = count * sizeof(float);
    for_each_element<1>(count, {dw},
                        PaddedGradientElements<T>{part.as<T>(), dw, static_cast<unsigned>(inputs),
                                                  static_cast<unsigned>(padded), accumulate},
                        stream, Traffic{count * size_of(part.type) + (accumulate ? bytes : 0), bytes});
  });
}

void add_weight_gradient(const Tensor& part, float* dw, bool accumulate, cudaStream_t stream) {
  with_compute_type(part.type, [&]<typename T>() {
    const size_t bytes = part.count() * sizeof(float);
    for_each_element<4>(part.count(), {part.data, dw}, GradientElements<T>{part.as<T>(), dw, accumulate},
                        stream, Traffic{part.bytes() + (accumulate ? bytes : 0), bytes});
  });
}

}  // namespace brightnet::cuda
