// A permutation of whole pixels: reads and writes every element once. A thread moves a vector of channels of
// one pixel of the wide tensor; accesses are coalesced on both sides within a pixel's channels.
#include "kernels/cuda/channel_vectors.h"
#include "kernels/cuda/cuda_backend.h"

namespace brightnet::cuda {
namespace {

/// wide: [n, h·block, w·block, c]; deep: [n, h, w, block²·c].
template <typename T, int count, bool to_deep>
struct MoveVector {
  static constexpr int width = count;
  int block, wide_width, channels;
  const T* from;
  T* to;
  bool accumulate;

  __device__ void operator()(unsigned pixel, unsigned channel) const {
    const unsigned row = pixel / wide_width, column = pixel - row * wide_width;  // rows of all images
    const unsigned part = row % block * block + column % block;
    const size_t deep_pixel = static_cast<size_t>(row / block) * (wide_width / block) + column / block;
    const size_t wide = static_cast<size_t>(pixel) * channels + channel;
    const size_t deep = (deep_pixel * block * block + part) * channels + channel;
    const T* source = from + (to_deep ? wide : deep);
    T* target = to + (to_deep ? deep : wide);
    if (!accumulate) return store<count>(target, load<count>(source));
    float sum[count], more[count];
    load_floats<count>(target, sum);
    load_floats<count>(source, more);
#pragma unroll
    for (int k = 0; k < count; ++k) sum[k] += more[k];
    store_floats<count>(target, sum);
  }
};

template <bool to_deep>
void move(int block, const Tensor& wide, const Tensor& deep, bool accumulate, cudaStream_t stream) {
  const Shape &w = wide.shape, &d = deep.shape;
  BRIGHTNET_CHECK(block >= 1 && (w == Shape{d.n, d.h * block, d.w * block, d.c / (block * block)}) &&
                      d.c % (block * block) == 0 && wide.type == deep.type,
                  "blocks of " + std::to_string(block) + " from " + to_string(w) + " to " + to_string(d));
  const Tensor &from = to_deep ? wide : deep, &to = to_deep ? deep : wide;
  with_compute_type(wide.type, [&]<typename T>() {
    const auto run = [&]<int count>() {
      for_each_channel_vector(
          w.pixels(), w.c,
          MoveVector<T, count, to_deep>{block, w.w, w.c, from.as<T>(), to.as<T>(), accumulate}, stream,
          Traffic{(accumulate ? 2 : 1) * from.bytes(), to.bytes()});
    };
    channels_fill_vectors({wide, deep}) ? run.template operator()<whole_vector<T>>()
                                        : run.template operator()<1>();
  });
}

}  // namespace

void CudaBackend::space_to_depth(int block, const Tensor& x, const Tensor& y) {
  move<true>(block, x, y, false, stream());
}

void CudaBackend::space_to_depth_backward(int block, const Tensor& dy, const Tensor& dx, bool accumulate) {
  move<false>(block, dx, dy, accumulate, stream());
}

}  // namespace brightnet::cuda
