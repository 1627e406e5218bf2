// Memory on a backend for tests: filled from the host, read back, and full of NaN until something writes it.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "core/random.h"
#include "kernels/backend.h"

namespace brightnet::testing {

/// A tensor on a backend that owns its memory. Values are set and read as float, whatever its type.
class DeviceTensor {
 public:
  DeviceTensor(Backend& backend, const Shape& shape, DType type) : backend_(backend) {
    tensor_ = {backend.allocate(shape.count() * size_of(type)), shape, type};
    fill(std::numeric_limits<float>::quiet_NaN());
  }
  ~DeviceTensor() { backend_.release(tensor_.data, tensor_.bytes()); }
  DeviceTensor(const DeviceTensor&) = delete;
  DeviceTensor& operator=(const DeviceTensor&) = delete;

  operator const Tensor&() const { return tensor_; }
  float* floats() const { return tensor_.as<float>(); }

  void set(const std::vector<float>& values) {
    if (tensor_.type == DType::f32) return backend_.upload(tensor_.data, values.data(), tensor_.bytes());
    std::vector<BFloat16> rounded;
    for (const float value : values) rounded.emplace_back(value);
    backend_.upload(tensor_.data, rounded.data(), tensor_.bytes());
  }
  void fill(float value) { set(std::vector<float>(tensor_.count(), value)); }
  std::vector<float> get() const {
    std::vector<float> values(tensor_.count());
    if (tensor_.type == DType::f32) {
      backend_.download(values.data(), tensor_.data, tensor_.bytes());
      return values;
    }
    std::vector<BFloat16> rounded(tensor_.count());
    backend_.download(rounded.data(), tensor_.data, tensor_.bytes());
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(rounded[i]);
    return values;
  }

 private:
  Backend& backend_;
  Tensor tensor_;
};

/// Standard normal numbers times `scale` plus `offset`, rounded to `type` so that a reference sees the same.
inline std::vector<float> random_values(size_t count, uint64_t seed, DType type = DType::f32, float scale = 1,
                                        float offset = 0) {
  Random random(seed, Purpose::test);
  std::vector<float> values(count);
  for (float& value : values) {
    value = scale * random.normal() + offset;
    if (type == DType::bf16) value = static_cast<float>(BFloat16(value));
  }
  return values;
}

/// √(Σ(a − b)² / Σb²): the error of the whole, relative to the expected values' size.
template <typename A, typename B>
double relative_error(const A& actual, const B& expected) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    difference += std::pow(static_cast<double>(actual[i]) - static_cast<double>(expected[i]), 2);
    size += std::pow(static_cast<double>(expected[i]), 2);
  }
  return std::sqrt(difference / std::max(size, 1e-30));
}

}  // namespace brightnet::testing
