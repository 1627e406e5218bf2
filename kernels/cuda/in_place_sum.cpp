#include "kernels/cuda/in_place_sum.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cuda/convolution_kernels.h"
#include "kernels/cuda/vector.h"

namespace brightnet::cuda {
namespace {

constexpr size_t pieces = 64, piece_elements = 4096;  ///< samples: 1 MiB of a tensor in fp32
constexpr double rounding = 1.0 / 128;  ///< tolerance per norm of a piece; bf16 rounds by half of it at most
constexpr double visible = 1.0 / 32;    ///< the smaller of two norms over the larger one

/// Pieces of a dense tensor at even distances, one after the other.
std::vector<float> sample(const Tensor& tensor, cudaStream_t stream) {
  const size_t count = tensor.count(), length = std::min(piece_elements, count);
  const PinnedMemory memory(pieces * length * size_of(tensor.type));
  for (size_t i = 0; i < pieces; ++i) {
    const size_t first = (count - length) * i / (pieces - 1);
    copy_async(memory.as<std::byte>() + i * length * size_of(tensor.type),
               static_cast<std::byte*>(tensor.data) + first * size_of(tensor.type),
               length * size_of(tensor.type), stream);
  }
  check(cudaStreamSynchronize(stream), "wait for a sample");
  std::vector<float> values(pieces * length);
  with_compute_type(tensor.type, [&]<typename T>() {
    std::transform(memory.as<T>(), memory.as<T>() + values.size(), values.begin(),
                   [](T value) { return static_cast<float>(value); });
  });
  return values;
}

float rounded(float value, DType type) {
  float result = value;
  with_compute_type(type, [&]<typename T>() { result = static_cast<float>(T(value)); });
  return result;
}

/// The root of the mean square of the finite ones among the values.
float magnitude(const std::vector<float>& values) {
  double squares = 0;
  size_t count = 0;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    squares += std::pow(static_cast<double>(value), 2);
    ++count;
  }
  return count == 0 ? 0.0f : static_cast<float>(std::sqrt(squares / count));
}

InPlace compare(const float* addend, const float* product, const float* sum, size_t count, DType type) {
  double addends = 0, products = 0, differences = 0;
  for (size_t i = 0; i < count; ++i) {
    const float expected = rounded(addend[i] + product[i], type);
    if (!std::isfinite(expected)) continue;
    if (!std::isfinite(sum[i])) return InPlace::fails;
    addends += std::pow(static_cast<double>(addend[i]), 2);
    products += std::pow(static_cast<double>(product[i]), 2);
    differences += std::pow(static_cast<double>(sum[i]) - expected, 2);
  }
  const double larger = std::sqrt(std::max(addends, products)),
               smaller = std::sqrt(std::min(addends, products));
  if (std::sqrt(differences) > rounding * (larger + smaller)) return InPlace::fails;
  return smaller > visible * larger ? InPlace::adds : InPlace::unknown;
}

}  // namespace

InPlace check_in_place(const InPlaceSum& work, const Tensor& part, cudaStream_t stream) {
  if (!work.product()) return InPlace::fails;
  const std::vector<float> product = sample(part, stream);
  fill_random(part, magnitude(product), stream);
  const std::vector<float> before = sample(part, stream);
  if (!work.sum()) return InPlace::fails;
  const std::vector<float> sum = sample(part, stream);
  const size_t length = sum.size() / pieces;
  InPlace seen = InPlace::unknown;
  for (size_t at = 0; at < sum.size(); at += length) {
    const InPlace piece = compare(&before[at], &product[at], &sum[at], length, part.type);
    if (piece == InPlace::fails) return piece;
    if (piece == InPlace::adds) seen = piece;
  }
  return seen;
}

}  // namespace brightnet::cuda
