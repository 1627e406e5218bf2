// db[c] = Σ dy: reads dy once (kernels/cuda/channel_sums.h). YOLO's heads have 255 channels, which fill no
// vectors; they are read element by element, and are small.
#include "kernels/cuda/channel_sums.h"
#include "kernels/cuda/cuda_backend.h"

namespace brightnet::cuda {
namespace {

struct StoreGradient {
  float* db;
  bool accumulate;

  Traffic traffic(int channels) const {
    const size_t bytes = channels * sizeof(float);
    return {accumulate ? bytes : 0, bytes};
  }
  __device__ void operator()(int channel, double s, double) const {
    db[channel] = static_cast<float>(s) + (accumulate ? db[channel] : 0.0f);
  }
};

template <typename T, int count>
__global__ void __launch_bounds__(channel_threads, resident(blocks_of_multiprocessor))
    sum_kernel(ChannelTiles tiles, const T* dy, unsigned stride, ChannelWorkspace room,
               StoreGradient finish) {
  const ChannelPlace place = ChannelPlace::of_thread<count>(tiles);
  float sum[count] = {}, unused[count] = {};
  constexpr int batch = 4;  // loads in flight
  for (unsigned pixel = place.first; pixel < place.pixels; pixel += batch * place.step) {
    Vector<T, count> vectors[batch];
    float once[batch];  // 0 for a pixel beyond the last
#pragma unroll
    for (unsigned j = 0; j < batch; ++j) {
      const unsigned own = pixel + j * place.step;
      once[j] = own < place.pixels ? 1.0f : 0.0f;
      vectors[j] = load<count>(dy + place.at<count>(own < place.pixels ? own : pixel, stride));
    }
#pragma unroll
    for (int j = 0; j < batch; ++j) {
#pragma unroll
      for (int k = 0; k < count; ++k) sum[k] += once[j] * widen(vectors[j].element[k]);
    }
  }
  sum_rows<count>(tiles, sum, unused, room.parts);
  finish_sums<count>(tiles, room, finish);
}

}  // namespace

void CudaBackend::bias_gradient(const Tensor& dy, float* db, bool accumulate, void* workspace,
                                StatisticsExchange*) {
  const ChannelWorkspace room(workspace, dy.shape.c, tickets());
  const StoreGradient finish{db, accumulate};
  with_compute_type(dy.type, [&]<typename T>() {
    const auto run = [&]<int count>() {
      const ChannelTiles tiles(dy.shape, count, blocks_of_multiprocessor);
      launch(sum_kernel<T, count>, sums_grid(tiles, {dy.bytes(), 0}, finish), channel_threads, 0, stream(),
             tiles, dy.as<T>(), pixel_stride(dy, count), room, finish);
    };
    channels_fill_vectors({dy}) ? run.template operator()<whole_vector<T>>() : run.template operator()<1>();
  });
}

}  // namespace brightnet::cuda
