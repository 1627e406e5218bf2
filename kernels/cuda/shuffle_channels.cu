// A permutation of the channels within each pixel: reads and writes every element once. A thread gathers a vector of
// channels of y, element by element, and writes it at once: neighbouring threads gather neighbouring channels of each
// group, so that a line of x that one of them has loaded serves the others from the L1 cache.
#include "kernels/cuda/channel_vectors.h"
#include "kernels/cuda/cuda_backend.h"

namespace brightnet::cuda {
namespace {

template <typename T, int count>
struct GatherShuffledVector {
  static constexpr int width = count;
  unsigned groups, channels;
  const T* x;
  T* y;
  bool accumulate;

  __device__ void operator()(unsigned pixel, unsigned channel) const {
    const size_t first = static_cast<size_t>(pixel) * channels;
    const unsigned columns = channels / groups;
    float sum[count];
    if (accumulate) load_floats<count>(y + first + channel, sum);
#pragma unroll
    for (int k = 0; k < count; ++k) {
      const unsigned place = channel + k, column = place / groups, group = place - column * groups;
      const float value = widen(x[first + group * columns + column]);
      sum[k] = accumulate ? sum[k] + value : value;
    }
    store_floats<count>(y + first + channel, sum);
  }
};

}  // namespace

void CudaBackend::shuffle_channels(int groups, const Tensor& x, const Tensor& y, bool accumulate) {
  BRIGHTNET_CHECK(groups >= 1 && x.shape.c % groups == 0 && x.shape == y.shape && x.type == y.type,
                  std::to_string(groups) + " groups of channels from " + to_string(x.shape) + " to " +
                      to_string(y.shape));
  with_compute_type(x.type, [&]<typename T>() {
    const auto run = [&]<int count>() {
      const auto channels = static_cast<unsigned>(x.shape.c);
      for_each_channel_vector(x.shape.pixels(), x.shape.c,
                              GatherShuffledVector<T, count>{static_cast<unsigned>(groups), channels,
                                                             x.as<T>(), y.as<T>(), accumulate},
                              stream(), Traffic{(accumulate ? 2 : 1) * x.bytes(), y.bytes()});
    };
    channels_fill_vectors({x, y}) ? run.template operator()<whole_vector<T>>() : run.template operator()<1>();
  });
}

}  // namespace brightnet::cuda
