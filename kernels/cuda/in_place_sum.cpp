#include "kernels/cuda/in_place_sum.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cuda/vector.h"

namespace brightnet::cuda {
namespace {

constexpr size_t pieces = 64, piece_elements = 4096;  ///< samples: 1 MiB of a tensor in fp32
constexpr double rounding = 1.0 / 128;  ///< of a piece's norm; bf16 rounds by half of it at most
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

enum class Verdict : uint8_t { same, different, unknown };

Verdict compare(const float* addend, const float* product, const float* sum, size_t count, DType type) {
  double addends = 0, products = 0, differences = 0;
  for (size_t i = 0; i < count; ++i) {
    const float expected = rounded(addend[i] + product[i], type);
    if (!std::isfinite(expected)) continue;
    if (!std::isfinite(sum[i])) return Verdict::different;
    addends += std::pow(static_cast<double>(addend[i]), 2);
    products += std::pow(static_cast<double>(product[i]), 2);
    differences += std::pow(static_cast<double>(sum[i]) - expected, 2);
  }
  const double larger = std::sqrt(std::max(addends, products)),
               smaller = std::sqrt(std::min(addends, products));
  if (std::sqrt(differences) > rounding * (larger + smaller)) return Verdict::different;
  return smaller > visible * larger ? Verdict::same : Verdict::unknown;
}

}  // namespace

bool adds_in_place(const InPlaceSum& work, const Tensor& addend, const Tensor& part, cudaStream_t stream) {
  if (!work.product()) return false;
  const std::vector<float> product = sample(part, stream), before = sample(addend, stream);
  copy_async(part.data, addend.data, part.bytes(), stream);
  if (!work.sum()) return false;
  const std::vector<float> sum = sample(part, stream);
  const size_t length = sum.size() / pieces;
  bool known = false;
  for (size_t at = 0; at < sum.size(); at += length) {
    const Verdict verdict = compare(&before[at], &product[at], &sum[at], length, part.type);
    if (verdict == Verdict::different) return false;
    known = known || verdict == Verdict::same;
  }
  return known;
}

}  // namespace brightnet::cuda
