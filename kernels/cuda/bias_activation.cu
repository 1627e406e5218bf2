// bias_activation: y = activation(y + bias[c]), in place. It reads and writes every element once, 2 · size
// bytes; the biases are a few kilobytes that stay in the cache. A thread takes 16 bytes of a pixel at a time
// where the channels allow it; of YOLO's heads, whose 255 channels do not, one element.
//
// add_weight_gradient: dw = or += part. Reads part (2 or 4 bytes an element) and, to accumulate, dw; writes
// dw.
#include "kernels/cuda/bias_activation.h"
#include "kernels/cuda/vector.h"

namespace brightnet::cuda {
namespace {

constexpr int threads = 256;

template <typename T, Activation A, int count>
__global__ void __launch_bounds__(threads) bias_kernel(T* y, const float* bias, int channels, size_t items) {
  for (size_t i = first_item(); i < items; i += item_step()) {
    const size_t at = i * count;
    const int channel = static_cast<int>(at % static_cast<size_t>(channels));
    float values[count];
    load_floats<count>(y + at, values);
#pragma unroll
    for (int k = 0; k < count; ++k) values[k] = activate<A>(values[k] + bias[channel + k]);
    store_floats<count>(y + at, values);
  }
}

template <typename T, Activation A, int count>
void launch_bias(const Tensor& y, const float* bias, cudaStream_t stream) {
  const size_t items = y.count() / count;
  launch(bias_kernel<T, A, count>, blocks_for(items, threads, 16 * static_cast<size_t>(multiprocessors())),
         threads, 0, stream, static_cast<T*>(y.data), bias, y.shape.c, items);
}

template <typename T>
__global__ void __launch_bounds__(threads)
    gradient_kernel(const T* part, float* dw, size_t count, bool accumulate) {
  for (size_t i = first_item(); i < count; i += item_step()) {
    const float value = widen(part[i]);
    dw[i] = accumulate ? dw[i] + value : value;
  }
}

}  // namespace

void bias_activation(const Tensor& y, const float* bias, Activation activation, cudaStream_t stream) {
  BRIGHTNET_CHECK(y.pixel_stride() == static_cast<size_t>(y.shape.c), "a bias is added to a dense tensor");
  with_compute_type(y.type, [&]<typename T>() {
    with_activation(activation, [&]<Activation A>() {
      if (y.shape.c % whole_vector<T> == 0) {
        launch_bias<T, A, whole_vector<T>>(y, bias, stream);
      } else {
        launch_bias<T, A, 1>(y, bias, stream);
      }
    });
  });
}

void add_weight_gradient(const Tensor& part, float* dw, bool accumulate, cudaStream_t stream) {
  with_compute_type(part.type, [&]<typename T>() {
    launch(gradient_kernel<T>, blocks_for(part.count(), threads, 16 * static_cast<size_t>(multiprocessors())),
           threads, 0, stream, static_cast<const T*>(part.data), dw, part.count(), accumulate);
  });
}

}  // namespace brightnet::cuda
