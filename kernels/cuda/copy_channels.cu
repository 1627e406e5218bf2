// Reads and writes each of the channels once (and reads the destination to add to it): a pixel's channels are
// one contiguous run on both sides, copied 16 bytes at a time where both runs begin and end at multiples of
// 16 bytes, otherwise element by element.
#include "kernels/cuda/channel_vectors.h"
#include "kernels/cuda/cuda_backend.h"

namespace brightnet::cuda {
namespace {

template <typename T, int count>
struct CopyVector {
  static constexpr int width = count;
  const T* from;
  T* to;
  size_t from_step, to_step;
  bool accumulate;

  __device__ void operator()(unsigned pixel, unsigned channel) const {
    const T* source = from + pixel * from_step + channel;
    T* target = to + pixel * to_step + channel;
    if (!accumulate) return store<count>(target, load<count>(source));
    float sum[count], more[count];
    load_floats<count>(target, sum);
    load_floats<count>(source, more);
#pragma unroll
    for (int k = 0; k < count; ++k) sum[k] += more[k];
    store_floats<count>(target, sum);
  }
};

}  // namespace

void CudaBackend::copy_channels(const Tensor& from, int from_channel, const Tensor& to, int to_channel,
                                int channels, bool accumulate) {
  const Shape &f = from.shape, &t = to.shape;
  BRIGHTNET_CHECK(f.n == t.n && f.h == t.h && f.w == t.w && from.type == to.type,
                  "channels copied between unlike tensors: " + to_string(f) + " and " + to_string(t));
  const Tensor source = slice_channels(from, from_channel, channels),
               target = slice_channels(to, to_channel, channels);
  with_compute_type(from.type, [&]<typename T>() {
    const auto copy = [&]<int count>() {
      for_each_channel_vector(f.pixels(), channels,
                              CopyVector<T, count>{source.as<T>(), target.as<T>(), source.pixel_stride(),
                                                   target.pixel_stride(), accumulate},
                              stream(), Traffic{(accumulate ? 2 : 1) * source.bytes(), target.bytes()});
    };
    if (channels_fill_vectors({source, target})) {
      copy.template operator()<whole_vector<T>>();
    } else {
      copy.template operator()<1>();
    }
  });
}

}  // namespace brightnet::cuda
