#include "kernels/cuda/engine_agreement.h"

#include <algorithm>

namespace brightnet::cuda {
namespace {

constexpr size_t most_numbers = size_t{1} << 18;
constexpr double largest_difference = 0.02;

template <typename T>
std::vector<float> widened(const void* data, size_t count) {
  const auto* numbers = static_cast<const T*>(data);
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(numbers[i]);
  return values;
}

}  // namespace

Sample::Sample(const Tensor& tensor, cudaStream_t stream) {
  const size_t count = std::min(tensor.count(), most_numbers);
  const PinnedMemory host(count * size_of(tensor.type));
  copy_async(host.data(), tensor.data, host.bytes(), stream);
  check(cudaStreamSynchronize(stream), "wait for a sample of a tensor");
  values_ = tensor.type == DType::f32   ? widened<float>(host.data(), count)
            : tensor.type == DType::f16 ? widened<Float16>(host.data(), count)
                                        : widened<BFloat16>(host.data(), count);
}

bool agree(const Sample& expected, const Sample& actual) {
  if (expected.values().size() != actual.values().size()) return false;
  double difference = 0, size = 0;
  for (size_t i = 0; i < expected.values().size(); ++i) {
    const double a = static_cast<double>(expected.values()[i]), b = static_cast<double>(actual.values()[i]);
    difference += (a - b) * (a - b);
    size += a * a;
  }
  return size > 0 && difference <= largest_difference * largest_difference * size;
}

}  // namespace brightnet::cuda
