// A pixel's channels are a matrix of `groups` rows, which is transposed.
#include <type_traits>

#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/vector_types.h"

namespace brightnet::cpu {

void CpuBackend::shuffle_channels(int groups, const Tensor& x, const Tensor& y, bool accumulate) {
  BRIGHTNET_CHECK(groups >= 1 && x.shape.c % groups == 0 && x.shape == y.shape && x.type == y.type,
                  std::to_string(groups) + " groups of channels from " + to_string(x.shape) + " to " +
                      to_string(y.shape));
  const size_t channels = x.shape.c, rows = groups, columns = channels / rows;
  with_stored_type(x.type, [&]<typename T>() {
    parallel_items(x.shape.pixels(), 2 * channels * sizeof(T), [&](size_t begin, size_t end) {
      for (size_t pixel = begin; pixel < end; ++pixel) {
        const T* const from = x.as<T>() + pixel * channels;
        T* const to = y.as<T>() + pixel * channels;
        for (size_t i = 0; i < rows; ++i) {
          for (size_t j = 0; j < columns; ++j) {
            T& target = to[j * rows + i];
            const T source = from[i * columns + j];
            if constexpr (!std::is_same_v<T, uint8_t>) {
              if (accumulate) store(target, widen(target) + widen(source));
            }
            if (!accumulate) target = source;
          }
        }
      }
    });
  });
}

}  // namespace brightnet::cpu
