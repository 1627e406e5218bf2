// Reads and writes every element once. A thread takes as many elements as fill 16 bytes of the wider type, so
// that the narrower side moves 8 bytes at a time: still whole sectors a warp.
#include "kernels/cuda/convolution_kernels.h"
#include "kernels/cuda/cuda_backend.h"
#include "kernels/cuda/elementwise.h"

namespace brightnet::cuda {
namespace {

template <typename From, typename To>
struct CastElements {
  const From* from;
  To* to;

  template <int count>
  __device__ void operator()(size_t i) const {
    float values[count];
    load_floats<count>(from + i, values);
    store_floats<count>(to + i, values);
  }
};

}  // namespace

void cast(const Tensor& from, const Tensor& to, cudaStream_t stream) {
  BRIGHTNET_CHECK(from.shape == to.shape, "cast between unlike shapes");
  if (from.type == to.type) {
    copy_async(to.data, from.data, from.bytes(), stream);
    return;
  }
  with_compute_type(from.type, [&]<typename From>() {
    with_compute_type(to.type, [&]<typename To>() {
      constexpr int count = static_cast<int>(16 / (sizeof(From) > sizeof(To) ? sizeof(From) : sizeof(To)));
      for_each_element<count>(from.count(), {from.data, to.data},
                              CastElements<From, To>{from.as<From>(), to.as<To>()}, stream,
                              Traffic{from.bytes(), to.bytes()});
    });
  });
}

void CudaBackend::cast(const Tensor& from, const Tensor& to) {
  cuda::cast(from, to, stream());
}

}  // namespace brightnet::cuda
