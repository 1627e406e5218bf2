// Whether two engines computed the same. What cuDNN fuses is compiled for the occasion, and a run must not
// depend on its being right.
#pragma once

#include <vector>

#include "core/tensor.h"
#include "kernels/cuda/runtime.h"

namespace brightnet::cuda {

/// The first numbers of a tensor, on the host.
class Sample {
 public:
  Sample() = default;
  /// Waits for the stream.
  Sample(const Tensor& tensor, cudaStream_t stream);
  explicit Sample(std::vector<float> values) : values_(std::move(values)) {}

  const std::vector<float>& values() const { return values_; }

 private:
  std::vector<float> values_;
};

/// Whether the difference is of the size of rounding in half precision: a fiftieth of the expected numbers,
/// both as root of the mean square. Nothing agrees with zeros alone, infinities or no numbers at all.
bool agree(const Sample& expected, const Sample& actual);

}  // namespace brightnet::cuda
